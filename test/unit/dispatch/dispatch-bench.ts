import { createSecretKey } from "node:crypto";
import { Measurements } from "../../../src/core/measurements.ts";
import { AgentRunner } from "../../../src/dispatch/run/agent-runner.ts";
import { BRIEF_RETRY } from "../../../src/dispatch/run/retry.ts";
import { onTestFinished, vi } from "vitest";
import type { AgentSpec, RunDetail, RunSpec, WakeSpec } from "../../../src/core/run.ts";
import type { Notice } from "../../../src/dispatch/context.ts";
import { Dispatcher } from "../../../src/dispatch/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/dispatcher.ts";
import type { DispatchRules } from "../../../src/dispatch/rules.ts";
import type { SettledEvent } from "../../../src/core/events.ts";
import type { OpenRun } from "../../../src/storage/open-run.ts";
import type { NewDelivery, NewRun } from "../../../src/storage/new-delivery.ts";
import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";
import { MemoryDisk } from "../../fixtures/memory-store/disk.ts";
import { ScriptedHost } from "./scripted-host.ts";

export function agentSpec(overrides: Partial<AgentSpec> = {}): AgentSpec {
  return {
    kind: "agent",
    message: "Look at this.",
    name: "Test",
    agentId: "main",
    sessionKey: "agent:main:hook:a",
    wakeMode: "now",
    timeoutMs: 5_000,
    interrupted: "rerun",
    source: "Webhook",
    unsafe: false,
    delivery: { channel: "console", to: "owner" },
    ...overrides,
  };
}

export function wakeSpec(overrides: Partial<WakeSpec> = {}): WakeSpec {
  return {
    kind: "wake",
    text: "Something happened.",
    name: "Test",
    agentId: "main",
    sessionKey: "agent:main:main",
    mode: "now",
    source: "Webhook",
    unsafe: false,
    ...overrides,
  };
}

/** For `expect.poll`: a machine may be busy with other things. */
export const PATIENT = { timeout: 15_000, interval: 5 };

/** Stops both clocks until the given function is called: no short time can be up before what is to come first. */
export function stopClocks(): () => void {
  const clocks = [
    vi.spyOn(Date, "now").mockReturnValue(Date.now()),
    vi.spyOn(performance, "now").mockReturnValue(performance.now()),
  ];
  const goOn = (): void => {
    for (const clock of clocks) clock.mockRestore();
  };
  onTestFinished(goOn);
  return goOn;
}

/** Rules that hold nothing back; retries come soon. */
const PLAIN_RULES: DispatchRules = {
  retry: {
    runs: { attempts: 3, firstDelayMs: 20, maxDelayMs: 100 },
    deliveries: { attempts: 3, firstDelayMs: 20, maxDelayMs: 100 },
  },
  priority: "normal",
  concurrency: undefined,
  budgets: [],
};

let madeUp = 0;

/** An agent run that no store knows, for a scripted runner; in a lane of its own. */
export function openRun(overrides: Partial<OpenRun> = {}): OpenRun {
  const runId = `run-${++madeUp}`;
  return {
    runId,
    mappingId: null,
    lane: runId,
    kind: "agent",
    state: "queued",
    dueAt: null,
    expiresAt: null,
    begun: false,
    replied: false,
    ...overrides,
  };
}

/** A store one of whose methods rejects for some time. */
export function failing<Store extends object>(
  store: Store,
  method: keyof Store,
  failures: { readonly count: number; readonly error: Error },
): Store {
  let left = failures.count;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (name === method && left-- > 0) return Promise.reject(failures.error);
        return Reflect.apply(value, target, args);
      };
    },
  });
}

/** What of a delivery a test sets; its runs' lanes and expiry besides. */
export type Overrides = Partial<Omit<NewDelivery, "runs"> & Pick<NewRun, "lane" | "expiresAt">>;

/** A dispatcher on a store in memory, and a scripted host. */
export class DispatchBench {
  readonly host = new ScriptedHost();
  readonly settled: SettledEvent[] = [];
  readonly logged: string[] = [];
  /** What is logged for information and as a warning. */
  readonly lines: { level: "info" | "warn"; fields: object; message: string }[] = [];
  /** Notices to the gateway's owner, failures that outages were derived from, and what was said to work. */
  readonly notices: Notice[] = [];
  readonly outages: string[] = [];
  readonly works: string[] = [];
  readonly #disk = new MemoryDisk();
  store!: MemoryDeliveryStore;
  dispatcher!: Dispatcher;
  concurrency = 4;
  busy = false;
  /** How far the wall clock is off. */
  clockOffsetMs = 0;
  rules = new Map<string | null, Partial<DispatchRules>>();

  static async open(overrides: Partial<DispatcherOptions> = {}): Promise<DispatchBench> {
    const bench = new DispatchBench();
    await bench.restart(overrides);
    return bench;
  }

  /** Opens store and dispatcher as a new process would; nothing is started. */
  async restart(overrides: Partial<DispatcherOptions> = {}): Promise<void> {
    await this.dispatcher?.stop(this.now());
    await this.store?.close();
    this.store = new MemoryDeliveryStore(this.#disk);
    this.#make(overrides);
  }

  /** Starts another dispatcher on the open store. */
  async startWith(overrides: Partial<DispatcherOptions>): Promise<void> {
    await this.dispatcher.stop(this.now());
    this.#make(overrides);
    this.dispatcher.start();
  }

  /** The time by the wall clock. */
  now(): number {
    return Date.now() + this.clockOffsetMs;
  }

  /** Accepts a delivery without handing its runs to the dispatcher; gives their ids. */
  async accept(...specs: RunSpec[]): Promise<readonly string[]> {
    return (await this.acceptAs({}, ...specs)).map(({ runId }) => runId);
  }

  async acceptAndEnqueue(...specs: RunSpec[]): Promise<readonly string[]> {
    return this.enqueueAs({}, ...specs);
  }

  /** Accepts a delivery with something set; gives its runs as the dispatcher takes them. */
  async acceptAs({ lane, expiresAt, ...delivery }: Overrides, ...specs: RunSpec[]): Promise<readonly OpenRun[]> {
    const outcome = await this.store.accept({
      receivedAt: this.now(),
      route: "agent",
      mappingId: null,
      name: "Test",
      headers: {},
      query: {},
      body: new Uint8Array(),
      ...delivery,
      runs: specs.map((spec) => ({ lane: lane ?? spec.sessionKey, spec, expiresAt: expiresAt ?? null })),
    });
    if (outcome.kind !== "accepted") throw new Error(`The delivery was not accepted: ${outcome.kind}.`);
    return specs.map((spec, at): OpenRun => ({
      runId: outcome.runIds[at]!,
      mappingId: delivery.mappingId ?? null,
      lane: lane ?? spec.sessionKey,
      kind: spec.kind,
      state: "queued",
      dueAt: outcome.dueAt ?? null,
      expiresAt: expiresAt ?? null,
      begun: false,
      replied: false,
    }));
  }

  async enqueueAs(overrides: Overrides, ...specs: RunSpec[]): Promise<readonly string[]> {
    const runs = await this.acceptAs(overrides, ...specs);
    this.dispatcher.enqueue(runs);
    return runs.map(({ runId }) => runId);
  }

  async detail(runId: string): Promise<RunDetail> {
    const { deliveryId } = await this.store.loadRun(runId);
    const delivery = await this.store.get(deliveryId);
    return delivery!.runs.find(({ id }) => id === runId)!;
  }

  /** Waits until that many runs have been settled. */
  async settledRuns(count: number): Promise<void> {
    while (this.settled.length < count) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  #make(overrides: Partial<DispatcherOptions>): void {
    this.dispatcher = new Dispatcher({
      store: this.store,
      host: this.host,
      clock: { now: () => this.now() },
      logger: {
        debug() {},
        info: (fields, message) => void this.lines.push({ level: "info", fields, message }),
        warn: (fields, message) => void this.lines.push({ level: "warn", fields, message }),
        error: (_fields, message) => void this.logged.push(message),
      },
      measurements: new Measurements(),
      events: { dispatched: () => undefined, settled: async (event) => void this.settled.push(event) },
      concurrency: () => this.concurrency,
      isBusy: () => this.busy,
      rulesFor: (mappingId) => ({ ...PLAIN_RULES, ...this.rules.get(mappingId) }),
      callbacks: () => undefined,
      outgoingFor: () => ({ hasSecret: () => false, isLinkHost: () => true }),
      key: createSecretKey(Buffer.alloc(32, 7)),
      fetch: () => Promise.reject(new Error("No test of this bench sends a callback.")),
      beginRetry: BRIEF_RETRY,
      agents: (context) => new AgentRunner(context),
      notices: { notify: async (notice) => void this.notices.push(notice) },
      outages: {
        failed: async (subject) => void this.outages.push(subject),
        works: async (subject) => void this.works.push(subject),
        written: async () => {},
      },
      ...overrides,
    });
  }

  async close(): Promise<void> {
    await this.dispatcher.stop(this.now());
    await this.store.close();
  }
}
