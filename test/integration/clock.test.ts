import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryDetail } from "../../src/core/delivery.ts";
import { ScriptedModel } from "../torture/scripted-model.ts";
import { RunningGateway } from "./http/running-gateway.ts";

const HOUR_MS = 3_600_000;
/** Longer than a test stands still, and shorter than it waits. */
const WINDOW_SECONDS = 20;

const hooksWith = (windowSeconds: number) => ({
  concurrency: 4,
  mappings: [
    mapping("burst", { coalesce: { key: "all", windowSeconds, maxWaitSeconds: 2 * WINDOW_SECONDS } }),
    mapping("lane", { sessionKey: "hook:lane" }),
    mapping("young", { sessionKey: "hook:lane", maxAgeSeconds: 60 }),
    mapping("short", { timeoutSeconds: 60 }),
    mapping("steady", { coalesce: { key: "all", windowSeconds: 0.5, maxWaitSeconds: 1 } }),
    mapping("retried", { retry: { attempts: 3, backoffSeconds: 0.3, maxBackoffSeconds: 0.3 } }),
  ],
});

/** A mapping on the path of its name that tells no one. */
function mapping(id: string, more: object): object {
  const messageTemplate = "Call {{number}}.";
  return { id, match: { path: id }, wakeMode: "next-heartbeat", deliver: false, messageTemplate, ...more };
}

/** How the clock is set, time and again, while something waits. */
const CLOCKS = [
  { how: "is set forward by an hour", jumps: [HOUR_MS] },
  { how: "is set back by an hour", jumps: [-HOUR_MS] },
  { how: "is set back, forward and back again", jumps: [-HOUR_MS, 2 * HOUR_MS, -HOUR_MS] },
];

/** The result of the calls, without their times. */
interface Outcome {
  readonly states: readonly string[];
  readonly prompts: readonly string[];
}

describe.each(CLOCKS)("while the clock $how", ({ jumps }) => {
  let model: ScriptedModel;
  let gateway: RunningGateway;
  let refusals: number;
  /** What the model waits for before it answers. */
  let held: { readonly promise: Promise<void>; readonly resolve: () => void };

  beforeEach(async () => {
    refusals = 0;
    held = Promise.withResolvers();
    held.resolve();
    model = await ScriptedModel.listen(async () => {
      await held.promise;
      return refusals-- > 0 ? { status: 503 } : {};
    });
    const hooks = hooksWith(WINDOW_SECONDS);
    gateway = await RunningGateway.start({ hooks, config: model.config, gateway: { shutdownSeconds: 0.2 } });
  });
  afterEach(async () => {
    held.resolve();
    await gateway[Symbol.asyncDispose]();
    model.close();
  });

  async function send(path: string, number: number): Promise<unknown> {
    const key = { "idempotency-key": String(number) };
    const { status, body } = await gateway.post(`/hooks/${path}`, { number }, key);
    expect(status).toBe(202);
    return body["deliveryId"];
  }

  /** Sets the clock as the case says, with a little time before each. */
  async function setClock(): Promise<void> {
    for (const jumpMs of jumps) {
      await sleep(30);
      gateway.advance(jumpMs);
    }
  }

  async function outcomeOf(ids: readonly unknown[]): Promise<Outcome> {
    const ended: DeliveryDetail[] = [];
    for (const id of ids) ended.push(await gateway.ended(id));
    return {
      states: ended.map(({ state }) => state),
      prompts: model.runPrompts.map((prompt) => /Call \d+\./.exec(prompt)?.[0] ?? prompt),
    };
  }

  it("calls are accepted once and run in their order", async () => {
    const ids: unknown[] = [];
    for (let number = 0; number < 20; number++) {
      ids.push(await send("lane", number));
      const jump = jumps[number % 5];
      if (jump !== undefined) gateway.advance(jump);
      expect(await send("lane", number)).toBe(ids.at(-1));
    }
    expect(await outcomeOf(ids)).toEqual({
      states: ids.map(() => "done"),
      prompts: ids.map((_, number) => `Call ${number}.`),
    });
  });

  it("a run in progress reaches its end and not its time limit", async () => {
    held = Promise.withResolvers();
    const id = await send("short", 1);
    while (model.calls.length === 0) await sleep(10);
    await setClock();
    held.resolve();
    expect(await outcomeOf([id])).toEqual({ states: ["done"], prompts: ["Call 1."] });
  });

  it("a run that waits behind another one is not too old before its time", async () => {
    held = Promise.withResolvers();
    const ids = [await send("lane", 1), await send("young", 2)];
    while (model.calls.length === 0) await sleep(10);
    await setClock();
    await sleep(100);
    held.resolve();
    expect(await outcomeOf(ids)).toEqual({ states: ["done", "done"], prompts: ["Call 1.", "Call 2."] });
  });

  it("a run that coalesces calls takes those of its window and waits no longer", async () => {
    const ids = [await send("burst", 1), await send("burst", 2)];
    await setClock();
    ids.push(await send("burst", 3));
    // The last call puts the run off by the window that is active then.
    gateway.writeHooks(hooksWith(0.3));
    expect((await gateway.reload()).applied).toBe(true);
    ids.push(await send("burst", 4));
    expect(await outcomeOf(ids)).toEqual({
      states: ["done", "coalesced", "coalesced", "coalesced"],
      prompts: ["Call 4."],
    });
    expect((await gateway.delivery(ids[0])).runs[0]?.calls).toBe(4);
  });

  it("calls that keep coming do not postpone the run that coalesces them forever", async () => {
    const first = await send("steady", 0);
    await setClock();
    for (let number = 1; (await gateway.delivery(first)).state === "queued"; number++) await send("steady", number);
    expect((await gateway.ended(first)).state).toBe("done");
  });

  it("a run that waits to be tried again is tried again soon", async () => {
    // The model is asked three times in one attempt.
    refusals = 3;
    const id = await send("retried", 1);
    const attempts = async () => (await gateway.delivery(id)).runs[0]?.attempts ?? [];
    while ((await attempts()).at(-1)?.endedAt == null) await sleep(5);
    await setClock();
    expect((await outcomeOf([id])).states).toEqual(["done"]);
    expect((await attempts()).map(({ status }) => status)).toEqual(["error", "ok"]);
  });

  it("nothing that waits when the gateway stops waits longer after the next start", async () => {
    const gathering = await send("burst", 1);
    await gateway.stop();
    await setClock();
    gateway.writeHooks(hooksWith(0.3));
    await gateway.restart();
    expect(await outcomeOf([gathering])).toEqual({ states: ["done"], prompts: ["Call 1."] });
  });
});
