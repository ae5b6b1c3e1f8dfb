import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, hookToken, readApi } from "./fixture.ts";
import { RulesFixture } from "./rules-fixture.ts";
import { configWith, readDiary, writePlugin } from "./rules-plugin.ts";
import type { RulesOptions } from "./rules-plugin.ts";

const SOON = { timeout: 15_000, interval: 5 };
const APPLIED = { applied: true, restartNeeded: [] };
const REFUSED = { applied: false, restartNeeded: [] };

let fixture: RulesFixture;
beforeEach(() => {
  fixture = new RulesFixture();
});
afterEach(() => fixture.remove());

async function statusOf(gateway: EmbeddedGateway, text: string): Promise<number> {
  return (await callHook(gateway, "/hooks/wake", { text, mode: "next-heartbeat" })).status;
}

async function get(gateway: EmbeddedGateway, path: string): Promise<string> {
  const response = await fetch(`${gateway.url}${path}`);
  return response.ok ? await response.text() : String(response.status);
}

/** Writes a configuration with these plugins and reads it. */
async function reloadWith(gateway: EmbeddedGateway, plugins: Readonly<Record<string, RulesOptions>>): Promise<object> {
  fixture.write(configWith(plugins));
  return await gateway.reload();
}

describe("plugins of a running gateway", () => {
  it("are added, given other options, disabled and removed by an edit of the file", async () => {
    const gateway = await fixture.start();
    writePlugin(fixture, "rules");
    expect(await statusOf(gateway, "payroll")).toBe(200);
    fixture.write(configWith({ rules: { deny: "payroll", route: "/rules", says: "one" } }));
    await vi.waitFor(async () => expect(await statusOf(gateway, "payroll")).toBe(403), SOON);
    expect([await statusOf(gateway, "lunch"), await get(gateway, "/rules")]).toEqual([200, "one"]);

    fixture.write(configWith({ rules: { deny: "lunch", route: "/other", says: "two" } }));
    await vi.waitFor(async () => expect(await statusOf(gateway, "lunch")).toBe(403), SOON);
    expect([await statusOf(gateway, "payroll"), await get(gateway, "/rules")]).toEqual([200, "404"]);
    expect(await get(gateway, "/other")).toBe("two");

    fixture.write({
      ...baseConfig,
      plugins: { load: { paths: ["./rules"] }, entries: { rules: { enabled: false, config: {} } } },
    });
    await vi.waitFor(async () => expect(await statusOf(gateway, "lunch")).toBe(200), SOON);
    expect(await get(gateway, "/other")).toBe("404");

    fixture.write(baseConfig);
    await vi.waitFor(
      () => expect(fixture.logged("info").filter((line) => line.includes("configuration applied"))).toHaveLength(4),
      SOON,
    );
    expect(await statusOf(gateway, "lunch")).toBe(200);
    expect(fixture.logged("error")).toEqual([]);
  });

  it("stay as they are, with the hooks that they have tapped, when another part of the file changes", async () => {
    writePlugin(fixture, "rules");
    fixture.write(configWith({ rules: { deny: "payroll", diary: fixture.diary } }));
    const gateway = await fixture.start();
    writePlugin(fixture, "rules", "throw new Error('is not loaded');");
    fixture.write(configWith({ rules: { deny: "payroll", diary: fixture.diary } }, { maxDepth: 12 }));
    expect(await gateway.reload()).toEqual(APPLIED);
    expect(await statusOf(gateway, "payroll")).toBe(403);
    expect(readDiary(fixture.diary)).toEqual(["applied", "commit start", "commit reload"]);
  });

  it("are reloaded when their block changes, with the edits to their files", async () => {
    writePlugin(fixture, "rules");
    fixture.write(configWith({ rules: { route: "/rules", says: "before" } }));
    const gateway = await fixture.start();
    const edited = `export default class {
      constructor(options) { this.says = "edited " + options.says; }
      apply(host) {
        host.lifecycle.onHttpRoute.tap("rules", (router) =>
          router.register({ path: "/rules", match: "exact", handler: (_req, res) => void res.end(this.says) }));
      }
    }`;
    writePlugin(fixture, "rules", edited);
    expect(await get(gateway, "/rules")).toBe("before");
    expect(await reloadWith(gateway, { rules: { says: "after" } })).toEqual(APPLIED);
    expect(await get(gateway, "/rules")).toBe("edited after");
  });

  it("finish the requests that began under them, while the next ones answer others", async () => {
    writePlugin(fixture, "rules");
    fixture.write(configWith({ rules: { deny: "lunch", gate: fixture.gate, diary: fixture.diary } }));
    const gateway = await fixture.start();
    const [slow, denied] = [statusOf(gateway, "wait for payroll"), statusOf(gateway, "wait for lunch")];
    await vi.waitFor(() => expect(readDiary(fixture.diary).filter((line) => line === "waits")).toHaveLength(2), SOON);
    expect(await reloadWith(gateway, { rules: { deny: "payroll" } })).toEqual(APPLIED);
    expect([await statusOf(gateway, "wait for payroll"), await statusOf(gateway, "wait for lunch")]).toEqual([
      403, 200,
    ]);
    // Whoever they hold something open for is not done yet.
    expect(readDiary(fixture.diary)).not.toContain("shut down");
    fixture.openGate();
    expect([await slow, await denied]).toEqual([200, 403]);
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toContain("shut down"), SOON);
    await gateway.stop();
    expect(readDiary(fixture.diary).filter((line) => line === "shut down")).toHaveLength(1);
  });

  it("are shut down once after the next ones have come into use, although requests of theirs never end", async () => {
    writePlugin(fixture, "rules");
    const plugins = configWith({ rules: { gate: fixture.gate, diary: fixture.diary } });
    fixture.write({ ...plugins, gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } });
    const gateway = await fixture.start();
    const slow = statusOf(gateway, "wait");
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toContain("waits"), SOON);
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } });
    expect(await gateway.reload()).toEqual(APPLIED);
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toContain("shut down"), SOON);
    fixture.openGate();
    expect(await slow).toBe(200);
    expect(readDiary(fixture.diary)).toEqual(["applied", "commit start", "waits", "shut down"]);
  });

  it("that wait for their requests are shut down at once when the gateway stops", async () => {
    writePlugin(fixture, "rules");
    fixture.write(configWith({ rules: { gate: fixture.gate, diary: fixture.diary } }));
    const gateway = await fixture.start();
    const slow = statusOf(gateway, "wait");
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toContain("waits"), SOON);
    expect(await reloadWith(gateway, {})).toEqual(APPLIED);
    const stopped = gateway.stop();
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toContain("shut down"), SOON);
    fixture.openGate();
    await Promise.all([slow, stopped]);
    expect(readDiary(fixture.diary).filter((line) => line === "shut down")).toHaveLength(1);
  });

  it("do not take the ingress with them: what was accepted before is carried out after, in the same store", async () => {
    writePlugin(fixture, "rules");
    fixture.write(configWith({ rules: { deny: "payroll" } }, { concurrency: 1 }));
    const gateway = await fixture.start();
    const ids: string[] = [];
    for (let round = 0; round < 10; round++) {
      const { deliveryId } = (await (await callHook(gateway, "/hooks/agent", { message: `run ${round}` })).json()) as {
        deliveryId: string;
      };
      ids.push(deliveryId);
      fixture.write(configWith({ rules: { deny: `payroll ${round}` } }, { concurrency: 1 }));
      expect(await gateway.reload()).toEqual(APPLIED);
    }
    await vi.waitFor(async () => {
      const page = (await (await readApi(gateway, "deliveries?limit=50")).json()) as {
        deliveries: { id: string; state: string }[];
      };
      expect(page.deliveries.map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual(
        ids.map((id) => `${id} done`).toSorted(),
      );
    }, SOON);
    expect(await statusOf(gateway, "still there")).toBe(200);
    expect(fixture.logged("error")).toEqual([]);
  });
});

describe("plugins that cannot take the place of those before", () => {
  const good = { rules: { deny: "payroll", route: "/rules", says: "before" } };

  async function startGood(): Promise<EmbeddedGateway> {
    writePlugin(fixture, "rules");
    writePlugin(fixture, "second");
    fixture.write(configWith(good));
    return await fixture.start();
  }

  async function expectBefore(gateway: EmbeddedGateway, reason: string): Promise<void> {
    const { fields, message } = fixture.logger.lines.findLast(({ level }) => level === "error") ?? {};
    expect(message).toBe("configuration refused; the active one stays");
    expect(`${String(fields?.["issues"])} ${String(fields?.["err"])}`).toContain(reason);
    expect([await statusOf(gateway, "payroll"), await get(gateway, "/rules")]).toEqual([403, "before"]);
  }

  it("leave the active ones in place, and it is logged, whatever is wrong with them", async () => {
    const gateway = await startGood();
    const next = { rules: { deny: "lunch", diary: fixture.diary } };
    for (const breaks of ["constructor", "apply", "load"] as const) {
      expect(await reloadWith(gateway, { ...next, second: { breaks, diary: fixture.diary } })).toEqual(REFUSED);
      await expectBefore(gateway, `broke in ${breaks}`);
    }
    writePlugin(fixture, "second", "export default class {");
    expect(await reloadWith(gateway, { ...next, second: {} })).toEqual(REFUSED);
    await expectBefore(gateway, "plugins.load.paths[1]");
    fixture.write({ ...configWith(next), hooks: { enabled: true, token: hookToken, tokn: "x" } });
    expect(await gateway.reload()).toEqual(REFUSED);
    await expectBefore(gateway, "hooks.tokn");
    expect(await statusOf(gateway, "lunch")).toBe(200);
  });

  it("are shut down as far as they were applied, and never commit", async () => {
    const gateway = await startGood();
    await reloadWith(gateway, { rules: { diary: fixture.diary }, second: { breaks: "apply", diary: fixture.diary } });
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toEqual(["applied", "shut down", "shut down"]), SOON);
    writeFileSync(fixture.diary, "");
    await reloadWith(gateway, { rules: { diary: fixture.diary }, second: { breaks: "load", diary: fixture.diary } });
    const expected = ["", "applied", "applied", "shut down", "shut down"];
    await vi.waitFor(() => expect(readDiary(fixture.diary).toSorted()).toEqual(expected.slice(1)), SOON);
    // The active one has not heard of it.
    expect(await statusOf(gateway, "payroll")).toBe(403);
    await gateway.stop();
    expect(readDiary(fixture.diary).filter((line) => line.startsWith("commit"))).toEqual([]);
  });

  it("are tried again when the file is saved again, once what was wrong is mended", async () => {
    const gateway = await startGood();
    writePlugin(fixture, "second", "export default class {");
    const next = configWith({ rules: { deny: "lunch" }, second: {} });
    fixture.write(next);
    await vi.waitFor(() => expect(fixture.logged("error")).toHaveLength(1), SOON);
    writePlugin(fixture, "second");
    expect(await statusOf(gateway, "lunch")).toBe(200);
    fixture.write(next);
    await vi.waitFor(async () => expect(await statusOf(gateway, "lunch")).toBe(403), SOON);
    expect(fixture.logged("error")).toHaveLength(1);
  });

  it("cost no more than their own routes when two of them want the same, and it is logged", async () => {
    const gateway = await startGood();
    const both = { rules: { route: "/same", says: "rules" }, second: { route: "/same", says: "second" } };
    expect(await reloadWith(gateway, both)).toEqual({
      ...APPLIED,
      failures: [expect.stringContaining('tap "second": The exact route /same is registered already')],
    });
    expect(fixture.logged("warn")).toContain("configuration applied, except the parts that failed");
    expect(String(fixture.logger.lines.findLast(({ level }) => level === "error")?.fields["err"])).toContain(
      'tap "second": The exact route /same is registered already',
    );
    expect([await get(gateway, "/same"), await get(gateway, "/rules")]).toEqual(["rules", "404"]);
    expect(await statusOf(gateway, "payroll")).toBe(200);
  });
});

describe("plugins that do not shut down as they should", () => {
  it("hold up neither the next ones nor a later reload nor the others, and are logged", async () => {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } });
    writePlugin(fixture, "failing");
    writePlugin(
      fixture,
      "hanging",
      `export default class { apply(host) { host.lifecycle.onShutdown.tapPromise("hanging", () => new Promise(() => {})); } }`,
    );
    writePlugin(fixture, "last");
    const quick = { gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } };
    fixture.write({
      ...configWith({ failing: { breaks: "shutdown" }, hanging: {}, last: { diary: fixture.diary } }),
      ...quick,
    });
    const gateway = await fixture.start();
    fixture.write({ ...baseConfig, ...quick });
    expect(await gateway.reload()).toEqual(APPLIED);
    fixture.write({ ...configWith({ last: { deny: "payroll" } }), ...quick });
    expect(await gateway.reload()).toEqual(APPLIED);
    expect(await statusOf(gateway, "payroll")).toBe(403);
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toContain("shut down"), SOON);
    const reported = fixture.logger.lines.filter(({ level }) => level === "error");
    expect(reported.map(({ message }) => message)).toEqual(Array(2).fill("a plugin did not shut down in order"));
    expect(String(reported[0]?.fields["err"])).toContain('tap "failing": cannot let go');
    expect(String(reported[1]?.fields["err"])).toContain('tap "hanging": has not come to an end by the deadline');
  });
});
