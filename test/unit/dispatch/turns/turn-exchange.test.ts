import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AgentRunRequest, type AgentRunResult, HostError } from "../../../../src/core/host.ts";
import type { DispatchContext } from "../../../../src/dispatch/context.ts";
import { TurnExchange } from "../../../../src/dispatch/turns/turn-exchange.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import { ANSWER_MARGIN_MS, type TurnOffer } from "../../../../src/storage/shared-store.ts";
import { agentSpec } from "../dispatch-bench.ts";
import { RunnerBench } from "../runner-bench.ts";
import { TurnTable } from "./turn-table.ts";

const OFFER: TurnOffer = { alike: "1", agents: ["main"], channels: [], turns: 2 };

/** The gateway with the runs is the bench; the others take turns, and are no more than their offers. */
describe("a gateway that shares turns with others", () => {
  let bench: RunnerBench;
  let table: TurnTable;
  let own: TurnOffer;
  let leads: boolean;
  let exchange: TurnExchange;

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    bench = new RunnerBench();
    table = new TurnTable(({ runId, attempt: number }, startedAt) =>
      bench.store.beginAttempt(runId, { number, startedAt }),
    );
    own = OFFER;
    leads = true;
    bench.turnsOf = exchangeOf;
    await bench.restart();
  });
  afterEach(async () => {
    exchange.close();
    await bench.close();
    vi.useRealTimers();
  });

  function exchangeOf(context: DispatchContext): TurnExchange {
    exchange = new TurnExchange({ shared: table.view(), offer: () => own, leads: () => leads, changed: () => {} });
    exchange.use(context);
    exchange.start();
    return exchange;
  }

  /** Another gateway, which takes turns and does nothing with them. */
  async function other(offer: Partial<TurnOffer> = {}): Promise<ReturnType<TurnTable["view"]>> {
    const view = table.view();
    await view.look({ ...OFFER, ...offer });
    await seen();
    return view;
  }

  /** The gateways have looked again. */
  async function seen(): Promise<void> {
    table.changed();
    await sleep(40);
  }

  const leave = async (runId: string, outcome: object): Promise<void> => {
    const row = table.row({ runId, attempt: 1 })!;
    row.outcome = JSON.stringify(outcome);
    await seen();
  };
  const attemptsOf = async (runId: string) => (await bench.detail(runId)).attempts.map(({ status }) => status);
  /** The host is asked and does not answer before the turn is to end. */
  const hang = (): void => {
    bench.host.onRun = ({ signal }: AgentRunRequest) =>
      new Promise<AgentRunResult>((resolve) => {
        signal.addEventListener("abort", () => resolve({ status: "aborted", reply: "" }));
      });
  };

  it("hands a turn to the one with the most room, and records what came of it as of its own", async () => {
    const second = await other({ turns: 4 });
    hang();
    const running = await bench.accept();
    void bench.carryOutAlone(running).catch(() => {});
    await seen();
    expect(bench.host.runs).toHaveLength(1);
    const runId = await bench.accept();
    const carriedOut = bench.carryOut(runId);
    await seen();
    await expect.poll(() => table.row({ runId, attempt: 1 })?.place).toBe(second.place);
    await leave(runId, { status: "ok", reply: "From there.", usage: { inputTokens: 3 } });
    expect(await carriedOut).toEqual({ kind: "ended" });
    expect(await bench.detail(runId)).toMatchObject({ state: "done", attempts: [{ number: 1, status: "ok" }] });
    expect(bench.host.runs).toHaveLength(1);
  });

  it("shares turns that come at the same time", async () => {
    await other();
    hang();
    const runIds = await Promise.all(Array.from({ length: 2 * OFFER.turns }, () => bench.accept()));
    for (const runId of runIds) void bench.carryOutAlone(runId).catch(() => {});
    await expect.poll(() => bench.host.runs.length).toBe(OFFER.turns);
    expect(table.rows).toHaveLength(OFFER.turns);
  });

  it("hands no turn out before it is counted against its budgets on disk", async () => {
    own = { ...OFFER, agents: [] };
    await other();
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.counted = promise;
    void bench.carryOutAlone(await bench.accept()).catch(() => {});
    await seen();
    expect(table.rows).toEqual([]);
    resolve();
    await expect.poll(() => table.rows.length).toBe(1);
  });

  it.each([
    ["another hooks block or version", { alike: "2" }],
    ["no such agent", { agents: ["ops"] }],
    ["no turns to take any more", { turns: 0 }],
  ])("keeps a turn from one with %s", async (_, offer) => {
    await other(offer);
    hang();
    for (let run = 0; run < OFFER.turns; run++) {
      void bench.carryOutAlone(await bench.accept()).catch(() => {});
      await seen();
    }
    expect(table.rows).toEqual([]);
    expect(bench.host.runs).toHaveLength(OFFER.turns);
  });

  it.each([{ sessionMode: "persistent" }, { workspace: { repo: "https://example.com/a.git" } }] as const)(
    "keeps a turn whose next one continues what it leaves: %j",
    async (spec) => {
      await other({ turns: 100 });
      hang();
      void bench.carryOutAlone(await bench.accept()).catch(() => {});
      await seen();
      void bench.carryOutAlone(await bench.accept(agentSpec(spec as object))).catch(() => {});
      await seen();
      expect(table.rows).toEqual([]);
    },
  );

  it("lets a run wait for a gateway that has its agent, and says so", async () => {
    own = { ...OFFER, agents: ["ops"] };
    const runId = await bench.accept();
    expect(await bench.carryOut(runId)).toMatchObject({ kind: "postponed", refused: true });
    expect((await bench.detail(runId)).reason).toContain("no gateway with this configuration has the agent main");
    const second = await other();
    void bench.carryOutAlone(runId).catch(() => {});
    await seen();
    await expect.poll(() => table.row({ runId, attempt: 1 })?.place).toBe(second.place);
  });

  it("lets a reply wait whose channel only another gateway has, and says so", async () => {
    const second = await other({ channels: ["elsewhere"] });
    const runId = await bench.accept(agentSpec({ delivery: { channel: "elsewhere", to: "owner" } }));
    expect(await bench.carryOut(runId)).toMatchObject({ kind: "postponed", replied: true });
    expect((await bench.detail(runId)).reason).toContain("a gateway that has the channel elsewhere");
    expect(bench.host.sent).toEqual([]);
    table.places.delete(second.place);
    await seen();
    await bench.finish(runId);
    expect(bench.host.sent.map(({ channel }) => channel)).toEqual(["elsewhere"]);
  });

  describe("of which one is gone", () => {
    let runId: string;
    let carriedOut: Promise<unknown>;

    async function handOut(interrupted: "rerun" | "hold"): Promise<void> {
      own = { ...OFFER, agents: [] };
      const second = await other();
      runId = await bench.accept(agentSpec({ interrupted }));
      carriedOut = bench.carryOut(runId);
      await seen();
      own = OFFER;
      table.places.delete(second.place);
    }

    it("carries its turns out again, and says in the prompt that they may have taken effect", async () => {
      await handOut("rerun");
      await seen();
      // Pauses, budgets and bounds of concurrency hold for the next attempt.
      expect(await carriedOut).toMatchObject({ kind: "postponed", holdsLane: true, replied: false });
      expect(bench.host.runs).toEqual([]);
      expect(await bench.detail(runId)).toMatchObject({ reason: expect.stringContaining("is gone or cut off") });
      await bench.carryOut(runId);
      expect(await attemptsOf(runId)).toEqual(["interrupted", "ok"]);
      expect(bench.host.runs.map((run) => run.runId)).toEqual([`${runId}-a2`]);
      expect(bench.host.runs[0]!.prompt).toContain("may already have taken effect");
    });

    it("holds a run that a person is to decide about", async () => {
      await handOut("hold");
      await seen();
      await carriedOut;
      expect(await bench.detail(runId)).toMatchObject({ state: "held", attempts: [{ status: "interrupted" }] });
      expect(bench.host.runs).toEqual([]);
    });

    it("takes an outcome that was left before", async () => {
      await handOut("rerun");
      table.row({ runId, attempt: 1 })!.outcome = JSON.stringify({ status: "ok", reply: "Just in time." });
      await seen();
      await carriedOut;
      expect(await attemptsOf(runId)).toEqual(["ok"]);
    });
  });

  it("waits for a turn that was handed out by the gateway before it, and begins it no second time", async () => {
    own = { ...OFFER, agents: [] };
    await other();
    const runId = await bench.accept();
    const before = bench.carryOutAlone(runId).catch((error: unknown) => error);
    await seen();
    bench.abandon();
    expect(String(await before)).toContain("left to the gateway that goes on");
    exchange.close();
    own = OFFER;
    await bench.restart();
    await seen();
    const carriedOut = bench.carryOut(runId);
    await leave(runId, { status: "ok", reply: "It went on." });
    await carriedOut;
    expect(await bench.detail(runId)).toMatchObject({ state: "done", attempts: [{ number: 1, status: "ok" }] });
    expect(bench.host.runs).toEqual([]);
  });

  it("has the other one end a turn whose run a person cancels", async () => {
    own = { ...OFFER, agents: [] };
    await other();
    const runId = await bench.accept();
    const stop = new AbortController();
    const carriedOut = bench.carryOut(runId, stop.signal);
    await seen();
    stop.abort();
    await seen();
    expect(table.row({ runId, attempt: 1 })?.ends).toBe(true);
    await leave(runId, { status: "aborted", reply: "" });
    await carriedOut;
    expect(await attemptsOf(runId)).toEqual(["aborted"]);
  });

  it("cuts off its own turns when the database gives no answer and another gateway may have the runs", async () => {
    await other({ turns: 0 });
    hang();
    const runId = await bench.accept(agentSpec({ interrupted: "hold" }));
    const carriedOut = bench.carryOut(runId);
    await seen();
    table.isSilent = true;
    await vi.advanceTimersByTimeAsync(ANSWER_MARGIN_MS + 1_500);
    await carriedOut;
    expect(await attemptsOf(runId)).toEqual(["interrupted"]);
    expect(bench.logged).toContain("no turn is taken from other gateways: the database does not answer");
    // Whatever was handed to it there goes to another one.
    expect([...table.places.values()]).toEqual([{ ...OFFER, turns: 0 }]);
  });

  describe("with more runs than it takes", () => {
    let runIds: readonly string[];
    let carriedOut: readonly Promise<unknown>[];

    beforeEach(async () => {
      await other({ turns: 0 });
      hang();
      const spec = agentSpec({ interrupted: "hold" });
      runIds = await Promise.all(Array.from({ length: OFFER.turns + 1 }, () => bench.accept(spec)));
      carriedOut = runIds.map((runId) => bench.carryOut(runId));
      await seen();
    });

    it("begins no turn that waited for room when it was cut off", async () => {
      table.isSilent = true;
      await vi.advanceTimersByTimeAsync(ANSWER_MARGIN_MS + 1_500);
      await Promise.all(carriedOut);
      const statuses = await Promise.all(runIds.map(attemptsOf));
      expect(statuses).toEqual([["interrupted"], ["interrupted"], ["aborted"]]);
      expect(await bench.detail(runIds.at(-1)!)).toMatchObject({ state: "queued" });
      expect(bench.host.runs).toHaveLength(OFFER.turns);
    });

    it("interrupts no turn that waited for room when it is stopped", async () => {
      bench.abandon();
      await Promise.all(carriedOut);
      const statuses = await Promise.all(runIds.map(attemptsOf));
      expect(statuses).toEqual([["interrupted"], ["interrupted"], ["aborted"]]);
    });
  });

  it("lets its own turns go on when the database gives no answer and there is no other gateway", async () => {
    hang();
    const runId = await bench.accept();
    void bench.carryOutAlone(runId).catch(() => {});
    await seen();
    table.isSilent = true;
    await vi.advanceTimersByTimeAsync(ANSWER_MARGIN_MS + 1_500);
    await seen();
    expect(await attemptsOf(runId)).toEqual(["running"]);
  });

  it("begins no more turns of its own than it takes", async () => {
    hang();
    for (let run = 0; run < 3; run++) void bench.carryOutAlone(await bench.accept()).catch(() => {});
    await seen();
    expect(bench.host.runs).toHaveLength(OFFER.turns);
  });

  describe("and is given turns", () => {
    it("carries them out once, and leaves what came of them", async () => {
      const runId = await bench.accept();
      await bench.store.beginAttempt(runId, { number: 1, startedAt: Date.now() });
      const request = JSON.stringify({ mappingId: null, interrupted: false, startedAt: Date.now() });
      await table.view().hand({ runId, attempt: 1 }, { place: 1, request, startedAt: 0 });
      const { place } = { place: [...table.places.keys()][0]! };
      table.rows[0] = { ...table.rows[0]!, place };
      await seen();
      await seen();
      await expect.poll(() => table.rows[0]?.outcome).toContain("All done.");
      await seen();
      expect(bench.host.runs.map((run) => run.runId)).toEqual([`${runId}-a1`]);
    });

    it("carries one out again that could not begin, when it is given it before its next look", async () => {
      const runId = await bench.accept();
      const [place] = [...table.places.keys()] as [number];
      const give = async (startedAt: number): Promise<void> => {
        const request = JSON.stringify({ mappingId: null, interrupted: false, startedAt });
        await table.view().hand({ runId, attempt: 1 }, { place, request, startedAt });
      };
      const { onRun } = bench.host;
      bench.host.onRun = async () => {
        bench.host.onRun = onRun;
        // From now on it hears of nothing.
        table.changed = () => {};
        throw new HostError("not now", { retryable: true, retryAfterMs: 1 });
      };
      await give(1);
      await expect.poll(() => table.rows[0]?.outcome).toContain("not now");
      table.forget(runId);
      await give(2);
      Reflect.deleteProperty(table, "changed");
      await seen();
      await expect.poll(() => table.rows[0]?.outcome).toContain("All done.");
    });

    describe("and is stopped", () => {
      /** A turn is handed to it; gives its row. */
      async function handed() {
        const runId = await bench.accept();
        const [place] = [...table.places.keys()] as [number];
        const request = JSON.stringify({ mappingId: null, interrupted: false, startedAt: 1 });
        await table.view().hand({ runId, attempt: 1 }, { place, request, startedAt: 1 });
        await seen();
        return () => table.row({ runId, attempt: 1 })?.outcome;
      }
      const replies: (() => void)[] = [];

      beforeEach(async () => {
        leads = false;
        replies.length = 0;
        bench.host.onRun = () =>
          new Promise((resolve) => replies.push(() => resolve({ status: "ok", reply: "In time." })));
        await other();
      });

      it("finishes also those that it was handed before the gateway with the runs knew of it", async () => {
        const first = await handed();
        const second = Promise.withResolvers<() => unknown>();
        const stopped = exchange.stop(Date.now() + 60_000).then(async () => (await second.promise)());
        second.resolve(await handed());
        replies[0]?.();
        await expect.poll(first).toContain("In time.");
        await seen();
        replies[1]?.();
        expect(await stopped).toContain("In time.");
      });

      it("stays until the gateway with the runs knows of it", async () => {
        const late = Promise.withResolvers<() => unknown>();
        const stopped = exchange.stop(Date.now() + 60_000).then(async () => (await late.promise)());
        late.resolve(await handed());
        replies[0]?.();
        expect(await stopped).toContain("In time.");
      });

      it("begins none after the deadline", async () => {
        await exchange.stop(Date.now());
        await handed();
        expect(bench.host.runs).toEqual([]);
      });
    });

    it("leaves the filled form too, and the gateway with the runs records what filling it took", async () => {
      const form = { type: "object", properties: { title: { type: "string", maxLength: 60 } }, required: ["title"] };
      const spec = agentSpec({ extract: { form, model: "local/small" } } as object);
      const usage = { model: "local/small", inputTokens: 10, outputTokens: 2, cachedTokens: undefined, costUsd: 1 };
      bench.host.onExtract = async () => ({ status: "ok", reply: '{"title":"it breaks"}', usage });
      const taken = await bench.accept(spec);
      await bench.store.beginAttempt(taken, { number: 1, startedAt: Date.now() });
      const request = JSON.stringify({ mappingId: null, interrupted: false, startedAt: Date.now() });
      await table
        .view()
        .hand({ runId: taken, attempt: 1 }, { place: [...table.places.keys()][0]!, request, startedAt: 0 });
      await expect.poll(() => table.rows[0]?.outcome).toContain("All done.");
      const outcome = JSON.parse(table.rows[0]!.outcome!) as { readonly extracted: string };
      expect(JSON.parse(outcome.extracted)).toEqual({ title: "it breaks" });

      own = { ...OFFER, agents: [] };
      await other();
      const runId = await bench.accept(spec);
      const carriedOut = bench.carryOut(runId);
      await seen();
      await leave(runId, outcome);
      await carriedOut;
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        attempts: [{ status: "ok", usage: { inputTokens: 10 }, activity: [{ kind: "extracted" }] }],
      });
    });

    it("leaves an error where one could not be carried out at all", async () => {
      const runId = await bench.accept();
      vi.spyOn(bench.store, "loadRun").mockRejectedValueOnce(new StoreError("NOT_FOUND", "It is gone."));
      const request = JSON.stringify({ mappingId: null, interrupted: false, startedAt: Date.now() });
      await table.view().hand({ runId, attempt: 1 }, { place: [...table.places.keys()][0]!, request, startedAt: 0 });
      await expect.poll(() => table.rows[0]?.outcome).toContain("It is gone.");
    });

    it("ends one that is taken away", async () => {
      const runId = await bench.accept();
      await bench.store.beginAttempt(runId, { number: 1, startedAt: Date.now() });
      let isAborted = false;
      bench.host.onRun = ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            isAborted = true;
            resolve({ status: "aborted", reply: "" });
          });
        });
      const request = JSON.stringify({ mappingId: null, interrupted: false, startedAt: Date.now() });
      await table.view().hand({ runId, attempt: 1 }, { place: [...table.places.keys()][0]!, request, startedAt: 0 });
      await seen();
      await expect.poll(() => bench.host.runs).toHaveLength(1);
      table.forget(runId);
      await seen();
      expect(isAborted).toBe(true);
    });
  });
});
