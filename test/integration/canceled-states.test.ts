import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { StatesGateway } from "./states-gateway.ts";

vi.mock("../../src/dispatch/run/full-jitter.ts", () => import("./longest-delay.ts"));

describe("a delivery in each open state can be canceled, and is seen as such through the API", () => {
  let states: StatesGateway;
  beforeAll(async () => {
    states = await StatesGateway.start();
  });
  afterEach(() => states.reset());
  afterAll(() => states[Symbol.asyncDispose]());

  it("queued, since another run has its lane", async () => {
    const go = states.holdBack("Message before.");
    const before = await states.sent("shared", { text: "before" });
    const id = await states.sent("shared", { text: "behind" });
    await states.seen(id, "queued");
    expect(await states.canceled(id)).toMatchObject({ attempts: [], reply: null });
    go();
    await states.seen(before, "done");
    expect((await states.gateway.delivery(id)).state).toBe("canceled");
  });

  it("queued, since it coalesces calls; the next call starts another window", async () => {
    const id = await states.sent("gathering");
    const member = await states.sent("gathering");
    await states.seen(id, "queued");
    expect(await states.canceled(id)).toMatchObject({ attempts: [], calls: 2 });
    expect((await states.seen(member, "coalesced")).relatedTo).toEqual({ how: "coalesced", deliveryId: id });
    const next = await states.sent("gathering");
    await states.seen(next, "queued");
    await states.canceled(next);
  });

  it("queued, since its mapping is paused", async () => {
    await states.gateway.api("/hooks/told/pause", {});
    const id = await states.sent("told");
    await states.seen(id, "queued");
    await states.canceled(id);
    await states.gateway.api("/hooks/told/resume", {});
    await states.seen(await states.sent("told"), "done");
    expect((await states.gateway.delivery(id)).state).toBe("canceled");
  });

  it("queued, since it waits for its next attempt", async () => {
    states.answerWith({ status: 503 });
    const id = await states.sent("again");
    while ((await states.gateway.delivery(id)).reason === null) await sleep(10);
    await states.seen(id, "queued");
    expect(await states.canceled(id)).toMatchObject({ attempts: [{ number: 1, status: "error" }] });
  });

  it("running", async () => {
    states.holdBack("Message under way.");
    const id = await states.sent("shared", { text: "under way" });
    await states.seen(id, "running");
    expect(await states.canceled(id)).toMatchObject({ reply: null, delivery: expect.any(String) });
  });

  it("held; one that is replayed first stays held until then", async () => {
    states.holdBack("Message halted.");
    const id = await states.sent("held", { text: "halted" });
    await states.seen(id, "running");
    await states.gateway.stop();
    states.answerWith({});
    await states.gateway.restart();
    await states.seen(id, "held");
    const { replay } = await states.gateway.api<{ replay: { deliveryId: string } }>(
      `/deliveries/${String(id)}/replay`,
      {},
    );
    const replayed = await states.seen(replay.deliveryId, "done");
    expect(replayed.relatedTo).toEqual({ how: "replay", deliveryId: id });
    expect((await states.gateway.delivery(id)).state).toBe("held");
    expect(await states.canceled(id)).toMatchObject({ attempts: [{ status: "interrupted" }] });
  });
});

describe("a pause of all runs can be seen through the API", () => {
  type Paused = { readonly all: { readonly paused: { readonly reason: string } | null } };

  async function pauseOfAll({ gateway }: StatesGateway): Promise<string | undefined> {
    return (await gateway.api<Paused>("/hooks")).all.paused?.reason;
  }

  it("as the operator's", async () => {
    await using states = await StatesGateway.start();
    await states.gateway.api("/hooks/*/pause", {});
    expect(await pauseOfAll(states)).toBe("paused by the operator");
    const ids = [await states.sent("told"), await states.sent("woken", { text: "Wake up." })];
    for (const id of ids) await states.seen(id, "queued");
    await states.gateway.api("/hooks/*/resume", {});
    for (const id of ids) await states.seen(id, "done");
    expect(await pauseOfAll(states)).toBeUndefined();
  });

  it("as that of a budget of a day that is used up", async () => {
    await using states = await StatesGateway.start({ hooks: { budget: { perDay: 1 } } });
    await states.seen(await states.sent("told"), "done");
    const over = await states.sent("shared");
    while ((await pauseOfAll(states)) === undefined) await sleep(10);
    expect(await pauseOfAll(states)).toBe("its budget of 1 runs in 24 hours is used up");
    await states.seen(over, "queued");
    await states.gateway.api("/hooks/*/resume", {});
    await states.seen(over, "done");
  });
});
