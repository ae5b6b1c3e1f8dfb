/** What the host's health of the service says while several things are wrong. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { GatewayPlugin } from "../../../../src/core/host.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const MAIN = "agent:main:main";
const patience = { timeout: 10_000, interval: 20 };
const usual = { enabled: true, path: "/reveille", token: "the-token-of-the-hooks-of-this-test" };

const refusing: GatewayPlugin = {
  apply(host) {
    host.lifecycle.onConfigLoad.tap("refusing", ({ config }) => {
      if ((config as { path: string }).path === "/refused") throw new Error("not with these settings");
    });
  },
};

/** With its ingress, the gateway also calls its own address: nobody answers there. */
async function start({ bare }: { bare: boolean }): Promise<OpenGateway> {
  const openClaw = new FakeOpenClaw();
  use(openClaw, usual);
  return OpenGateway.start({ openClaw, bare, plugin: refusing });
}

async function stall({ openClaw, host }: OpenGateway): Promise<void> {
  await host.sessions.enqueueSystemEvent({ sessionKey: MAIN, text: "one", idempotencyKey: "one" });
  host.sessions.requestHeartbeat({ sessionKey: MAIN, agentId: "main", reason: "hook:wake" });
  await vi.advanceTimersByTimeAsync(200_000);
  expect(openClaw.health.at(-1)).toContain("no turn takes them");
}

function use(openClaw: FakeOpenClaw, config: object): void {
  openClaw.config = { gateway: { port: 9 }, plugins: { entries: { reveille: { config } } } };
}

it("still says that the block is refused when a stall has ended meanwhile", async () => {
  await using opened = await start({ bare: true });
  const { openClaw, host } = opened;
  await stall(opened);

  use(openClaw, { ...usual, path: "/refused" });
  await vi.waitFor(() => expect(openClaw.health.at(-1)).toContain("not with these settings"), patience);
  const taken: string[] = [];
  host.sessions.onEventsTaken?.((keys) => void taken.push(...keys));
  openClaw.turn(MAIN);
  await vi.waitFor(() => expect(taken).toHaveLength(1), patience);
  expect(openClaw.health.at(-1)).toContain("not with these settings");
  use(openClaw, usual);
  await vi.waitFor(() => expect(openClaw.health.at(-1)).toBe("clear"), patience);
});

it("still says that no turn takes events when a block was accepted again", async () => {
  await using opened = await start({ bare: true });
  const { openClaw, outcomes } = opened;
  await stall(opened);
  use(openClaw, { ...usual, path: "/other" });
  await vi.waitFor(() => expect(outcomes.at(-1)).toEqual({ reason: "reload" }), patience);
  expect(openClaw.health.at(-1)).toContain("no turn takes them");
});

it("says that its address does not answer until the next block is active, and that a block is refused before that", async () => {
  await using opened = await start({ bare: false });
  const { openClaw, outcomes } = opened;
  use(openClaw, { ...usual, path: "/refused" });
  await vi.waitFor(() => expect(outcomes).toHaveLength(2), patience);
  while (!openClaw.log.join("\n").includes("cannot be reached")) {
    await vi.advanceTimersByTimeAsync(500);
    // The connection that is refused takes a moment of the real time.
    await nextTurn();
  }
  expect(openClaw.health.at(-1)).toContain("not with these settings");

  use(openClaw, { ...usual, path: "/other" });
  await vi.waitFor(() => expect(outcomes).toHaveLength(3), patience);
  const [before, after] = openClaw.health.slice(-2);
  expect(before).toContain("cannot be reached");
  expect(after).toBe("clear");
});
