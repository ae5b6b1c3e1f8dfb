import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostError } from "../../../../src/core/host.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import type { DeliveryStore } from "../../../../src/storage/delivery-store.ts";
import { DispatchBench, failing, PATIENT, stopClocks, wakeSpec } from "../dispatch-bench.ts";

const FULL = "agent:full:main";
const CANCELED = { state: "canceled", reason: "canceled by the operator" } as const;
const full = new HostError("too many pending events", { retryable: true });
const forFull = (text = "Something happened."): ReturnType<typeof wakeSpec> =>
  wakeSpec({ sessionKey: FULL, agentId: "full", text });

describe("wakes of a session that does not take them", () => {
  let bench: DispatchBench;
  /** Times that the full session was asked. */
  let asked: number;

  beforeEach(async () => {
    bench = await DispatchBench.open();
    asked = 0;
  });
  afterEach(async () => {
    await bench.close();
  });

  /** A session is full until the given promise is resolved. */
  function fill(until: Promise<void> = new Promise(() => {})): void {
    let isFull = true;
    void until.then(() => (isFull = false));
    bench.host.onEvent = async ({ sessionKey }) => {
      if (sessionKey !== FULL) return;
      asked++;
      if (isFull) throw full;
    };
  }

  const stateOf = async (runId: string | undefined): Promise<string> => (await bench.detail(runId!)).state;
  const eventsOf = (sessionKey: string): readonly string[] =>
    bench.host.events.filter((event) => event.sessionKey === sessionKey).map(({ idempotencyKey }) => idempotencyKey);

  /** A person cancels a run: on disk, and in the dispatcher. */
  async function cancel(runId: string): Promise<void> {
    await bench.store.settle(runId, CANCELED);
    bench.dispatcher.withdraw({ runIds: [runId], ...CANCELED });
  }

  it("keep no wake of another session waiting, in the same batch or later", async () => {
    fill();
    bench.dispatcher.start();
    const [first, beside] = await bench.acceptAndEnqueue(forFull(), wakeSpec());
    await bench.settledRuns(1);
    const [second] = await bench.acceptAndEnqueue(forFull());
    const [later] = await bench.acceptAndEnqueue(wakeSpec());
    await bench.settledRuns(2);
    expect(bench.settled.map(({ runId }) => runId)).toEqual([beside, later]);
    expect([await stateOf(first), await stateOf(second)]).toEqual(["queued", "queued"]);
    expect(bench.dispatcher.open).toBe(2);
  });

  it("are taken in their order once it has room, and observers hear of each once", async () => {
    const room = Promise.withResolvers<void>();
    const dispatched: string[] = [];
    fill(room.promise);
    await bench.startWith({
      events: {
        dispatched: async ({ runId }) => void dispatched.push(runId),
        settled: async (event) => void bench.settled.push(event),
      },
    });
    const runIds: string[] = [];
    for (let at = 0; at < 70; at++) runIds.push(...(await bench.acceptAndEnqueue(forFull(`number ${at}`))));
    await bench.acceptAndEnqueue(wakeSpec());
    await bench.settledRuns(1);
    room.resolve();
    await bench.settledRuns(71);
    expect(eventsOf(FULL)).toEqual(runIds);
    expect(dispatched.filter((runId) => runIds.includes(runId)).toSorted()).toEqual(runIds.toSorted());
    expect(await stateOf(runIds[69])).toBe("done");
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
  });

  it("are taken in their order by one that takes only some of them at a time", async () => {
    let room = 0;
    bench.host.onEvent = async () => {
      asked++;
      if (room-- <= 0) throw full;
    };
    bench.dispatcher.start();
    const runIds = await bench.acceptAndEnqueue(forFull("one"), forFull("two"));
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(4);
    room = 1;
    await bench.settledRuns(1);
    expect(eventsOf(FULL)).toEqual(runIds.slice(0, 1));
    room = 1;
    await bench.settledRuns(2);
    expect(eventsOf(FULL)).toEqual(runIds);
  });

  it("that are canceled are never handed over again", async () => {
    const room = Promise.withResolvers<void>();
    fill(room.promise);
    bench.dispatcher.start();
    const [canceled, kept] = await bench.acceptAndEnqueue(forFull("canceled"), forFull("kept"));
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(2);
    await cancel(canceled!);
    expect(bench.dispatcher.open).toBe(1);
    room.resolve();
    await bench.settledRuns(2);
    expect(eventsOf(FULL)).toEqual([kept]);
    expect(bench.settled.map(({ state }) => state)).toEqual(["canceled", "done"]);
  });

  it("leave nothing behind when all of them are canceled", async () => {
    fill();
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(forFull());
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(1);
    await cancel(runId!);
    expect(bench.dispatcher.open).toBe(0);
    bench.host.onEvent = async () => {};
    await new Promise((resolve) => setTimeout(resolve, 600));
    const [next] = await bench.acceptAndEnqueue(forFull());
    await bench.settledRuns(2);
    expect(eventsOf(FULL)).toEqual([next]);
  });

  it("are let go of when it never answers and they are canceled", async () => {
    bench.host.onEvent = ({ sessionKey }) => {
      asked++;
      return sessionKey === FULL ? new Promise(() => {}) : Promise.resolve();
    };
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(forFull());
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(1);
    // The wakes of others go on although this one is still in progress, and its own wait behind it.
    const [, behind] = await bench.acceptAndEnqueue(wakeSpec(), forFull());
    await bench.settledRuns(1);
    expect(asked).toBe(2);
    bench.host.onEvent = async () => {};
    await cancel(runId!);
    await bench.settledRuns(3);
    expect(bench.settled.map(({ state }) => state)).toEqual(["done", "canceled", "done"]);
    expect(eventsOf(FULL)).toEqual([behind]);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
  });

  it("that were canceled before they could be handed over are not", async () => {
    bench.dispatcher.start();
    const [runId] = await bench.accept(wakeSpec());
    const [run] = await bench.acceptAs({}, wakeSpec());
    const held = Promise.withResolvers<void>();
    await bench.startWith({
      events: { dispatched: () => held.promise, settled: async (event) => void bench.settled.push(event) },
    });
    bench.dispatcher.enqueue([run!]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await cancel(run!.runId);
    held.resolve();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.host.events).toEqual([]);
    expect(await stateOf(runId)).toBe("queued");
  });

  it("that were canceled while others were read do not wait behind those in progress", async () => {
    const room = Promise.withResolvers<void>();
    const reading = Promise.withResolvers<void>();
    fill(room.promise);
    const [first] = await bench.acceptAs({}, forFull());
    const [second] = await bench.acceptAs({}, forFull());
    const [third] = await bench.acceptAs({}, forFull());
    await bench.startWith({ store: slow(bench.store, third!.runId, reading.promise) });
    bench.dispatcher.enqueue([first!]);
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(1);
    bench.dispatcher.enqueue([second!, third!]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await cancel(second!.runId);
    reading.resolve();
    room.resolve();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(eventsOf(FULL)).toEqual([first!.runId, third!.runId]);
  });

  it("stay on disk when the gateway stops, which does not wait for the session, and keep their order", async () => {
    fill();
    bench.dispatcher.start();
    const runIds = await bench.acceptAndEnqueue(forFull("one"), forFull("two"));
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(2);
    await bench.dispatcher.stop(bench.now() + 3_600_000);
    expect([await stateOf(runIds[0]), await stateOf(runIds[1])]).toEqual(["queued", "queued"]);
    bench.host.reset();
    await bench.restart();
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    await bench.settledRuns(2);
    expect(eventsOf(FULL)).toEqual(runIds);
  });

  it("are left by a session that never answers when the deadline of a shutdown has come", async () => {
    bench.host.onEvent = () => {
      asked++;
      return new Promise(() => {});
    };
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(forFull());
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(1);
    await bench.dispatcher.stop(bench.now());
    expect(await stateOf(runId)).toBe("queued");
    expect(bench.logged).toEqual([]);
    expect(bench.dispatcher.open).toBe(0);
  });

  it("are dropped when they wait longer than they may", async () => {
    const goOn = stopClocks();
    bench.host.onEvent = async () => {
      asked++;
      goOn();
      throw full;
    };
    bench.dispatcher.start();
    const [runId] = await bench.enqueueAs({ expiresAt: bench.now() + 200 }, forFull());
    await bench.settledRuns(1);
    expect(asked).toBeGreaterThanOrEqual(1);
    expect(bench.settled).toMatchObject([{ runId, state: "skipped" }]);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
  });

  it("draw once on their budget, however often they are handed over", async () => {
    const room = Promise.withResolvers<void>();
    bench.rules.set("mail", { budgets: [{ scope: "mail", measure: "runs", perHour: 2, perDay: undefined }] });
    fill(room.promise);
    bench.dispatcher.start();
    await bench.enqueueAs({ mappingId: "mail" }, forFull(), forFull());
    await expect.poll(() => asked, PATIENT).toBeGreaterThanOrEqual(4);
    room.resolve();
    await bench.settledRuns(2);
    expect(bench.dispatcher.pausedScopes()).toEqual([]);
  });
});

describe("wakes that were taken", () => {
  let bench: DispatchBench;

  beforeEach(async () => {
    bench = await DispatchBench.open();
  });
  afterEach(() => bench.close());

  it("are settled although another of their batch was canceled and removed in between", async () => {
    const [gone] = await bench.accept(wakeSpec({ text: "gone" }));
    const { deliveryId } = await bench.store.loadRun(gone!);
    const left = await bench.accept(wakeSpec({ text: "left" }));
    await bench.restart();
    await bench.dispatcher.recover();
    bench.host.onEvent = async ({ idempotencyKey }) => {
      if (idempotencyKey !== gone) return;
      await bench.store.settle(gone, CANCELED);
      bench.dispatcher.withdraw({ runIds: [gone], ...CANCELED });
      await bench.store.remove([deliveryId], bench.now());
    };
    bench.dispatcher.start();
    await bench.settledRuns(2);
    expect(bench.settled.map(({ runId, state }) => [runId, state])).toEqual([
      [gone, "canceled"],
      [left[0], "done"],
    ]);
    expect((await bench.detail(left[0]!)).state).toBe("done");
    expect(bench.logged).toEqual([]);
  });

  it("stay on disk when they can never be settled, and the log says so", async () => {
    const error = new StoreError("INVALID", "a defect");
    await bench.startWith({ store: failing(bench.store, "settleAll", { count: 1, error }) });
    const [runId] = await bench.acceptAndEnqueue(wakeSpec());
    await expect.poll(() => bench.logged, PATIENT).toEqual(["a batch of wakes could not be carried out"]);
    expect((await bench.detail(runId!)).state).toBe("queued");
    expect(bench.dispatcher.open).toBe(0);
  });
});

/** A store that is slow in reading one run. */
function slow<Store extends DeliveryStore>(store: Store, runId: string, until: Promise<void>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (name === "loadRun" && args[0] === runId) await until;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}
