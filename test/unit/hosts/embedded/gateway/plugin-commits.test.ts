import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture, hookToken } from "./fixture.ts";
import { configWith, readDiary, writePlugin } from "./rules-plugin.ts";

/** Its commit, which comes before that of the ingress, throws at a reload. */
const BREAKS_COMMIT = `export default class {
  apply(host) {
    host.lifecycle.onConfigLoad.tap({ name: "breaks", stage: -1 }, ({ reason, onCommit }) => onCommit(() => {
      if (reason === "reload") throw new Error("no commit today");
    }));
  }
}`;

let fixture: GatewayFixture;
beforeEach(() => {
  fixture = new GatewayFixture();
});
afterEach(() => fixture.remove());

async function statusOf(gateway: EmbeddedGateway, text: string, token?: string): Promise<number> {
  return (await callHook(gateway, "/hooks/wake", { text, mode: "next-heartbeat" }, token)).status;
}

const FAILED = {
  applied: true,
  restartNeeded: [],
  failures: ['Hook "onConfigLoad", commit of the tap "breaks": no commit today'],
};

describe("a commit of a plugin that throws", () => {
  it("costs no other plugin its configuration: the ingress keeps working", async () => {
    writePlugin(fixture, "last");
    const diary = join(fixture.folder, "diary");
    fixture.write(configWith({ last: { diary } }));
    const gateway = await fixture.start();
    writePlugin(fixture, "breaks", BREAKS_COMMIT);
    fixture.write(configWith({ breaks: {}, last: { deny: "payroll", diary } }));
    expect(await gateway.reload()).toEqual(FAILED);
    // The object before has been shut down by then, and the ingress is not a part of it any more.
    await vi.waitFor(() => expect(readDiary(diary)).toContain("shut down"), { timeout: 15_000, interval: 5 });
    await sleep(50);
    expect([await statusOf(gateway, "lunch"), await statusOf(gateway, "payroll")]).toEqual([200, 403]);
    const { fields, message } = fixture.logger.lines.find(({ level }) => level === "error") ?? {};
    expect(message).toBe("a part of the new configuration failed after it was accepted");
    expect(String(fields?.["err"])).toContain(FAILED.failures[0]);
  });

  it("does not keep the new hooks block from coming into force", async () => {
    writePlugin(fixture, "breaks", BREAKS_COMMIT);
    fixture.write(configWith({ breaks: {} }));
    const gateway = await fixture.start();
    const token = `another-${hookToken}`;
    fixture.write(configWith({ breaks: {} }, { token }));
    expect(await gateway.reload()).toEqual(FAILED);
    expect([await statusOf(gateway, "x"), await statusOf(gateway, "x", token)]).toEqual([401, 200]);
    expect(fixture.logged("warn")).toContain("configuration applied, except the parts that failed");
    expect(fixture.logged("info")).not.toContain("configuration applied");
  });

  it("refuses a start, at which nothing is served yet", async () => {
    writePlugin(fixture, "breaks", BREAKS_COMMIT.replace('reason === "reload"', "true"));
    fixture.write(configWith({ breaks: {} }));
    await expect(fixture.start()).rejects.toThrow(FAILED.failures[0]);
  });
});

describe("a configuration that a plugin refuses", () => {
  it("is refused before the ingress has prepared anything for it", async () => {
    const [seen, refuse] = [join(fixture.folder, "seen"), join(fixture.folder, "refuse")];
    writePlugin(
      fixture,
      "strict",
      `import { appendFileSync, existsSync } from "node:fs";
      import { WebhookIngress } from "reveille";
      export default class {
        apply(host) {
          WebhookIngress.hooks(host).presets.tap("strict", () => appendFileSync(${JSON.stringify(seen)}, "prepared\\n"));
          host.lifecycle.onConfigLoad.tap("strict", () => {
            if (existsSync(${JSON.stringify(refuse)})) throw new Error("not today");
          });
        }
      }`,
    );
    fixture.write(configWith({ strict: {} }));
    const gateway = await fixture.start();
    expect(readDiary(seen)).toEqual(["prepared"]);
    writeFileSync(refuse, "");
    fixture.write({ ...configWith({ strict: {} }), hooks: { ...baseConfig.hooks, maxDepth: 12 } });
    expect(await gateway.reload()).toEqual({ applied: false, restartNeeded: [] });
    expect(readDiary(seen)).toEqual(["prepared"]);
  });
});
