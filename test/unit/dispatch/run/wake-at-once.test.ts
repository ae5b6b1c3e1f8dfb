import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SystemEvent } from "../../../../src/core/host.ts";
import type { NewDelivery } from "../../../../src/storage/new-delivery.ts";
import { newCoalesce, newDelivery } from "../../../conformance/store/new-delivery.ts";
import { agentSpec, DispatchBench, PATIENT, wakeSpec } from "../dispatch-bench.ts";

describe("a wake that the commit of its call carries out", () => {
  let bench: DispatchBench;
  let storesTurn: boolean;
  const written: { event: SystemEvent; turn: unknown }[] = [];
  const requested: unknown[] = [];

  beforeEach(async () => {
    bench = await DispatchBench.open();
    [storesTurn, written.length, requested.length] = [true, 0, 0];
    bench.host.sessions.eventWrite = (event, turn) => {
      written.push({ event, turn });
      return { operation: "host.take", args: { event }, storesTurn };
    };
    vi.spyOn(bench.host.sessions, "requestHeartbeat").mockImplementation((request) => void requested.push(request));
    bench.dispatcher.start();
  });
  afterEach(() => bench.close());

  const wake = (changes: Partial<NewDelivery> = {}): NewDelivery =>
    newDelivery({ runs: [{ lane: "agent:main:main", spec: wakeSpec() }], ...changes });
  const isTaken = (changes: Partial<NewDelivery> = {}): boolean =>
    bench.dispatcher.atOnce.of(wake(changes)) !== undefined;

  it("is written by the host, under the id of its run, in the boundary of a text that others wrote", () => {
    const atOnce = bench.dispatcher.atOnce.of(wake())!;
    expect(atOnce.write("run-1")).toMatchObject({ operation: "host.take" });
    const { event, turn } = written[0]!;
    expect(event).toMatchObject({ sessionKey: "agent:main:main", idempotencyKey: "run-1" });
    expect(event.text).toMatch(/UNTRUSTED|untrusted/u);
    expect(event.text).toContain("Something happened.");
    expect(turn).toEqual({ agentId: "main", sessionKey: "agent:main:main", reason: "hook:wake" });
  });

  it.each([true, false])(
    "asks for its turn and is reported once it is done; the turn is stored: %s",
    async (isStored) => {
      storesTurn = isStored;
      const atOnce = bench.dispatcher.atOnce.of(wake({ mappingId: "push" }))!;
      atOnce.write("run-1");
      expect([requested, bench.settled]).toEqual([[], []]);
      await atOnce.done("run-1", "delivery-1");
      expect(requested).toEqual([
        { agentId: "main", sessionKey: "agent:main:main", reason: "hook:wake", ...(isStored && { isStored }) },
      ]);
      expect(bench.settled).toEqual([{ runId: "run-1", kind: "wake", state: "done", reason: null }]);
      expect(bench.works).toEqual(["wakes:main"]);
      const fields = { runId: "run-1", deliveryId: "delivery-1", mapping: "push", attempt: 1, state: "done" };
      expect(bench.lines).toMatchObject([{ level: "info", fields, message: "run" }]);
    },
  );

  it("asks for no turn when it can wait for the next one", async () => {
    const spec = wakeSpec({ mode: "next-heartbeat" });
    const atOnce = bench.dispatcher.atOnce.of(wake({ runs: [{ lane: "a", spec }] }))!;
    atOnce.write("run-1");
    await atOnce.done("run-1", "delivery-1");
    expect([written[0]!.turn, requested]).toEqual([undefined, []]);
  });

  it.each<[string, Partial<NewDelivery>]>([
    ["an agent run", { runs: [{ lane: "a", spec: agentSpec() }] }],
    ["one of several wakes", { runs: [wakeSpec(), wakeSpec()].map((spec) => ({ lane: "a", spec })) }],
    ["the owner's own message", { runs: [{ lane: "a", spec: wakeSpec({ owner: { channel: "c", to: "t" } }) }] }],
    ["a wake that expires", { runs: [{ lane: "a", spec: wakeSpec(), expiresAt: 9e15 }] }],
    ["a wake that is held", { held: "quarantine" }],
    ["a wake that coalesces", { coalesce: newCoalesce() }],
    ["a wake that overlaps", { overlap: { key: new Uint8Array(32), mode: "skip" } }],
    ["a wake that changes waits", { waits: { mark: 0, changes: [] } }],
    ["a replay", { replayOf: "1" }],
    ["a delivery without a run", { runs: [], ended: { state: "filtered", reason: "no" } }],
  ])("is not %s", (_, changes) => {
    expect([isTaken(), isTaken(changes)]).toEqual([true, false]);
  });

  it("is none where the host has its sessions elsewhere", () => {
    delete bench.host.sessions.eventWrite;
    expect(isTaken()).toBe(false);
  });

  it("is none of a mapping that is paused or has a budget", async () => {
    bench.rules.set("limited", { budgets: [{ scope: "limited", measure: "runs", perHour: 9, perDay: undefined }] });
    expect([isTaken({ mappingId: "limited" }), isTaken({ mappingId: "other" })]).toEqual([false, true]);
    await bench.dispatcher.pause("other", "by a person");
    expect([isTaken({ mappingId: "other" }), isTaken()]).toEqual([false, true]);
    await bench.dispatcher.resume("other");
    expect(isTaken({ mappingId: "other" })).toBe(true);
  });

  it("is none while many calls are on their way: they share a batch", () => {
    bench.busy = true;
    expect(isTaken()).toBe(false);
    bench.busy = false;
    expect(isTaken()).toBe(true);
  });

  it("waits behind the wakes of its session that came before it", async () => {
    const go = Promise.withResolvers<void>();
    bench.host.onEvent = () => go.promise;
    await bench.acceptAndEnqueue(wakeSpec());
    expect(isTaken()).toBe(false);
    await expect.poll(() => bench.host.events.length === 0 && !isTaken(), PATIENT).toBe(true);
    go.resolve();
    await bench.settledRuns(1);
    await expect.poll(() => isTaken(), PATIENT).toBe(true);
  });

  it("is none before the gateway has started, when it ends, and where another gateway carries out the runs", async () => {
    await bench.restart();
    expect(isTaken()).toBe(false);
    bench.dispatcher.start();
    expect(isTaken()).toBe(true);
    bench.dispatcher.elsewhere.isHere = false;
    expect(isTaken()).toBe(false);
  });
});
