import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { wireRequest } from "../http/http-connection.ts";
import { AUTHORIZED, HOOK_TOKEN, RunningGateway } from "../http/running-gateway.ts";

const CONNECTIONS = 8;
const REWRITES = 10;
const CALL = { text: "x", mode: "next-heartbeat" };
const STABLE = { match: { path: "stable" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "{{n}}" };
const SOMETIMES = { match: { path: "sometimes" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "{{n}}" };
const IN_FORCE = "configuration applied";
const REFUSED = "configuration refused; the active one stays";

let gateway: RunningGateway;
beforeEach(async () => {
  gateway = await RunningGateway.start({ hooks: { mappings: [STABLE] } });
});
afterEach(() => gateway[Symbol.asyncDispose]());

function logged(message: string): number {
  return gateway.logger.lines.filter((line) => line.message === message).length;
}

/** Changes the file and waits until the gateway has noticed by itself. */
async function rewrite(change: () => void, message = IN_FORCE): Promise<void> {
  const before = logged(message);
  change();
  await vi.waitFor(() => expect(logged(message)).toBe(before + 1), { timeout: 20_000, interval: 5 });
}

async function statusOf(path: string, token = HOOK_TOKEN): Promise<number> {
  return (await gateway.post(path, { ...CALL, n: 1 }, { authorization: `Bearer ${token}` })).status;
}

describe("a configuration file that changes under load", () => {
  it("drops no request and closes no connection: 8 of them call all the time while it is rewritten 10 times", async () => {
    const load = { isOn: true };
    const statuses = new Map<string, number>();
    const accepted: string[] = [];
    const call = async (): Promise<void> => {
      const connection = await gateway.connect();
      for (let round = 0; load.isOn; round++) {
        const path = ["stable", "wake", "sometimes"][round % 3]!;
        connection.send(
          wireRequest({
            target: `/hooks/${path}`,
            headers: [AUTHORIZED],
            body: JSON.stringify({ ...CALL, n: round }),
          }),
        );
        // Rejects when the connection closes, so that no request can be lost unseen.
        const { status, text } = await connection.answer();
        const seen = `${path} ${status}`;
        statuses.set(seen, (statuses.get(seen) ?? 0) + 1);
        if (status === 200) accepted.push((JSON.parse(text) as { deliveryId: string }).deliveryId);
      }
      expect(connection.isClosed).toBe(false);
    };
    const calling = Array.from({ length: CONNECTIONS }, call);
    for (let time = 0; time < REWRITES; time++) {
      const mappings = time % 2 === 0 ? [STABLE, SOMETIMES] : [STABLE];
      await rewrite(() => gateway.writeHooks({ mappings, maxDepth: 10 + time }));
      expect(await statusOf("/hooks/sometimes")).toBe(time % 2 === 0 ? 200 : 404);
    }
    load.isOn = false;
    await Promise.all(calling);
    // What is not there all the time is found or not found, and nothing else ever happens.
    expect([...statuses.keys()].toSorted()).toEqual(["sometimes 200", "sometimes 404", "stable 200", "wake 200"]);
    expect(new Set(accepted).size).toBe(accepted.length);
    expect((await gateway.delivery(accepted.at(-1))).id).toBe(accepted.at(-1));
    expect(gateway.errors).toEqual([]);
  });
});

describe("a configuration file that changes", () => {
  it("and is not valid is reported with its keys, and the one before stays", async () => {
    for (const [text, issue] of [
      ["{ hooks: ", "is not JSON5"],
      [
        JSON.stringify(gateway.configWith({ mappings: [{ action: "wak" }] })),
        'hooks.mappings[0].action: "wak" is not one of wake, agent',
      ],
      [JSON.stringify(gateway.configWith({ tokn: "x" })), "hooks.tokn"],
      [JSON.stringify(gateway.configWith({ token: "" })), "hooks.token"],
      [JSON.stringify(gateway.configWith({ transformsDir: "../elsewhere" })), "hooks.transformsDir"],
    ] as const) {
      await rewrite(() => gateway.writeFile(text), REFUSED);
      const { fields } = gateway.logger.lines.findLast((line) => line.message === REFUSED)!;
      expect((fields["issues"] as string[]).join("\n")).toContain(issue);
      expect(JSON.stringify(fields)).not.toContain(HOOK_TOKEN);
      expect(await statusOf("/hooks/stable")).toBe(200);
    }
    await rewrite(() => gateway.writeHooks({ mappings: [SOMETIMES] }));
    expect([await statusOf("/hooks/stable"), await statusOf("/hooks/sometimes")]).toEqual([404, 200]);
  });

  it("takes effect when it is replaced by a rename, as editors do", async () => {
    const next = join(gateway.folder, "next");
    await rewrite(() => {
      writeFileSync(next, JSON.stringify(gateway.configWith({ mappings: [SOMETIMES] })), { mode: 0o600 });
      renameSync(next, gateway.configFile);
    });
    expect(await statusOf("/hooks/sometimes")).toBe(200);
  });

  it("changes the token: the new one is asked for, the old one is 401, and both may hold for a while", async () => {
    const next = "next-token-of-the-http-tests";
    await rewrite(() => gateway.writeHooks({ token: [HOOK_TOKEN, next] }));
    expect([await statusOf("/hooks/wake"), await statusOf("/hooks/wake", next)]).toEqual([200, 200]);
    await rewrite(() => gateway.writeHooks({ token: next }));
    expect([await statusOf("/hooks/wake"), await statusOf("/hooks/wake", next)]).toEqual([401, 200]);
  });

  it("turns hooks off, which gives 404, and on again", async () => {
    const connection = await gateway.connect();
    const wake = async (): Promise<number> => {
      connection.send(wireRequest({ headers: [AUTHORIZED], body: JSON.stringify(CALL) }));
      return (await connection.answer()).status;
    };
    expect(await wake()).toBe(200);
    await rewrite(() => gateway.writeHooks({ enabled: false }));
    expect(await wake()).toBe(404);
    await rewrite(() => gateway.writeHooks({}));
    expect(await wake()).toBe(200);
  });

  it("reloads transforms and what they import", async () => {
    const mappings = [{ match: { path: "code" }, transform: { module: "code.ts" }, deliver: false }];
    const say = async (): Promise<string> => {
      const { body } = await gateway.post("/hooks/code", {});
      return ((await gateway.delivery(body["deliveryId"])).runs[0]!.spec as AgentSpec).message;
    };
    gateway.writeTransform("word.ts", `export const word: string = "first";`);
    gateway.writeTransform("code.ts", `import { word } from "./word.ts";\nexport default () => ({ message: word });`);
    await rewrite(() => gateway.writeHooks({ mappings }));
    expect(await say()).toBe("first");
    gateway.writeTransform("word.ts", `export const word: string = "second";`);
    await rewrite(() => gateway.writeHooks({ mappings, maxDepth: 20 }));
    expect(await say()).toBe("second");
    gateway.writeTransform("code.ts", `export default () => ({ message: `);
    await rewrite(() => gateway.writeHooks({ mappings, maxDepth: 21 }));
    expect(await say()).toBe("second");
  });
});
