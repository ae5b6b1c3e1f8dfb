import { createSecretKey } from "node:crypto";
import { Measurements } from "../../../src/core/measurements.ts";
import type { CallbacksConfig } from "../../../src/config/callbacks.ts";
import type { RetryConfig } from "../../../src/config/retry.ts";
import { compileLinkHosts, type OutgoingRules } from "../../../src/core/outgoing/check-outgoing.ts";
import { compileSecretIndex } from "../../../src/core/outgoing/secret-index.ts";
import type { AgentSpec, RunDetail } from "../../../src/core/run.ts";
import { AgentRunner } from "../../../src/dispatch/run/agent-runner.ts";
import type { CarriedOut, DispatchContext, Notice } from "../../../src/dispatch/context.ts";
import type { Turns } from "../../../src/dispatch/turns/turns.ts";
import { OutageRegistry } from "../../../src/dispatch/notify/outage-registry.ts";
import type { DispatchedEvent, SettledEvent } from "../../../src/core/events.ts";
import type { AgentRunResult } from "../../../src/core/host.ts";
import type { GuardedFetch } from "../../../src/http/guarded-fetch.ts";
import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";
import { MemoryDisk } from "../../fixtures/memory-store/disk.ts";
import type { CoalesceClaim } from "../../../src/storage/new-delivery.ts";
import { agentSpec } from "./dispatch-bench.ts";
import { ScriptedHost } from "./scripted-host.ts";

/** Of the gateway. */
export const SECRET = "gateway-secret-4711";
export const KEY = createSecretKey(Buffer.alloc(32, 7));
const POLICY = { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 60_000 };
const RETRY: RetryConfig = { runs: POLICY, deliveries: POLICY };
const given = async (): Promise<void> => {};
const refuses: GuardedFetch = () => Promise.reject(new Error("The test expects no callback."));

/** A model that may answer later. */
export const OVERLOADED: AgentRunResult = {
  status: "error",
  reply: "",
  error: "the model is overloaded",
  retryable: true,
};

/** A runner on a store in memory, and a scripted host; the test is its dispatcher. */
export class RunnerBench {
  readonly host = new ScriptedHost();
  readonly settled: SettledEvent[] = [];
  readonly dispatched: DispatchedEvent[] = [];
  /** Notices to the gateway's owner: their texts, and the words of others that go with them. */
  readonly notices: string[] = [];
  readonly details: (string | undefined)[] = [];
  readonly logged: string[] = [];
  /** The mapping that runs are carried out for. */
  mappingId: string | null = null;
  /** Until it is resolved, the store does not have what was counted against budgets. */
  counted: Promise<void> | undefined;
  /** What giving a notice comes to. */
  onNotice: () => Promise<void> = given;
  retry: RetryConfig = RETRY;
  callbacks: CallbacksConfig | undefined;
  /** Who carries out turns; `undefined`: the runner alone. Taken up at the next restart. */
  turnsOf: ((context: DispatchContext) => Turns) | undefined;
  fetch: GuardedFetch = refuses;
  outgoing: OutgoingRules = {
    hasSecret: compileSecretIndex([SECRET]),
    isLinkHost: compileLinkHosts(["ci.example.com"]),
  };
  readonly #disk = new MemoryDisk();
  #abandon = new AbortController();
  store!: MemoryDeliveryStore;
  #runner!: AgentRunner;
  #outages!: OutageRegistry;

  static async open(): Promise<RunnerBench> {
    const bench = new RunnerBench();
    await bench.restart();
    return bench;
  }

  /** Opens store and runner as a new process would. */
  async restart(): Promise<void> {
    await this.store?.close();
    await this.#renew();
  }

  /** Forgets what happened, as far as another run could see it; the store stays. */
  async reset(): Promise<void> {
    this.host.reset();
    for (const kept of [this.settled, this.dispatched, this.notices, this.details, this.logged]) kept.length = 0;
    this.mappingId = null;
    this.counted = undefined;
    this.onNotice = given;
    this.retry = RETRY;
    this.callbacks = undefined;
    this.fetch = refuses;
    for (const subject of await this.store.outages()) await this.store.closeOutage(subject);
    await this.#renew();
  }

  async #renew(): Promise<void> {
    this.store = new MemoryDeliveryStore(this.#disk);
    this.#abandon = new AbortController();
    const { store, host } = this;
    const clock = { now: () => Date.now() };
    const log = (_fields: object, message: string): void => void this.logged.push(message);
    const logger = { debug() {}, info() {}, warn: log, error: log };
    const notices = {
      notify: async ({ text, detail }: Notice) => {
        this.notices.push(text);
        this.details.push(detail);
        await this.onNotice();
      },
    };
    const outages = new OutageRegistry({ store, notices, logger, clock });
    this.#outages = outages;
    await outages.load();
    const context: DispatchContext = {
      measurements: new Measurements(),
      spend: () => undefined,
      counted: () => this.counted,
      store,
      host,
      clock,
      logger,
      notices,
      outages,
      abandon: this.#abandon.signal,
      rulesFor: () => ({ retry: this.retry, priority: "normal", concurrency: undefined, budgets: [] }),
      callbacks: () => this.callbacks,
      outgoingFor: () => this.outgoing,
      key: KEY,
      fetch: (url, options) => this.fetch(url, options),
      events: {
        dispatched: async (event) => void this.dispatched.push(event),
        settled: async (event) => void this.settled.push(event),
      },
      beginRetry: { tries: 2, firstDelayMs: 1, maxDelayMs: 1 },
    };
    this.#runner = new AgentRunner(context, this.turnsOf?.(context));
  }

  /** Accepts a delivery with one run; gives its id. */
  async accept(spec: AgentSpec = agentSpec(), coalesce?: CoalesceClaim): Promise<string> {
    const outcome = await this.store.accept({
      receivedAt: Date.now(),
      route: "agent",
      mappingId: null,
      name: "Test",
      headers: {},
      query: {},
      body: new Uint8Array(),
      runs: [{ lane: spec.sessionKey, spec }],
      ...(coalesce && { coalesce }),
    });
    if (outcome.kind === "coalesced") return outcome.runId;
    if (outcome.kind !== "accepted") throw new Error(`It was not accepted: ${outcome.kind}.`);
    return outcome.runIds[0]!;
  }

  /** Carries a run out once, until also notices are given. */
  async carryOut(runId: string, stop?: AbortSignal): Promise<CarriedOut> {
    try {
      return await this.carryOutAlone(runId, stop);
    } finally {
      await this.#outages.written();
    }
  }

  /** Carries a run out once, and waits for no notice. */
  carryOutAlone(runId: string, stop: AbortSignal = new AbortController().signal): Promise<CarriedOut> {
    const { mappingId } = this;
    const run = { runId, mappingId, lane: "a", kind: "agent", state: "queued", dueAt: null } as const;
    return this.#runner.carryOut({ ...run, expiresAt: null, begun: false, replied: false }, stop);
  }

  /** Answers of the agent, one for each attempt; the last one for all that follow. */
  answers(...results: AgentRunResult[]): void {
    this.host.onRun = async () => results[Math.min(this.host.runs.length, results.length) - 1]!;
  }

  /** Carries a run out until it is not postponed any more, whenever it is due; gives the postponements. */
  async finish(runId: string): Promise<Extract<CarriedOut, { kind: "postponed" }>[]> {
    const postponed: Extract<CarriedOut, { kind: "postponed" }>[] = [];
    for (;;) {
      const left = await this.carryOut(runId);
      if (left.kind === "ended") return postponed;
      postponed.push(left);
      if (postponed.length > 100) throw new Error("It is postponed for ever.");
    }
  }

  /** Accepts a run and finishes it. */
  async run(spec: Partial<AgentSpec> = {}): Promise<string> {
    const runId = await this.accept(agentSpec(spec));
    await this.finish(runId);
    return runId;
  }

  /** The deadline of a shutdown has come. */
  abandon(): void {
    this.#abandon.abort();
  }

  async detail(runId: string): Promise<RunDetail> {
    const { deliveryId } = await this.store.loadRun(runId);
    const delivery = await this.store.get(deliveryId);
    return delivery!.runs.find(({ id }) => id === runId)!;
  }

  async close(): Promise<void> {
    this.#abandon.abort();
    await this.store.close();
  }
}
