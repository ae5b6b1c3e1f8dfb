import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentSpec, RunDetail, RunSpec, WakeSpec } from "../../../src/delivery.ts";
import { Dispatcher } from "../../../src/dispatch/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/dispatcher.ts";
import type { SettledEvent } from "../../../src/hooks.ts";
import { SqliteDatabase } from "../../../src/sqlite/sqlite-database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../src/store/sqlite-delivery-store.ts";
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

/** A dispatcher on a real store in a folder of its own, and a scripted host. */
export class DispatchBench {
  readonly host = new ScriptedHost();
  readonly settled: SettledEvent[] = [];
  readonly logged: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "dispatch-"));
  #database!: SqliteDatabase;
  store!: SqliteDeliveryStore;
  dispatcher!: Dispatcher;
  concurrency = 4;
  busy = false;

  static async open(): Promise<DispatchBench> {
    const bench = new DispatchBench();
    await bench.restart();
    return bench;
  }

  /** Opens store and dispatcher as a new process would; nothing is started. */
  async restart(overrides: Partial<DispatcherOptions> = {}): Promise<void> {
    await this.#database?.close();
    const file = join(this.#folder, "deliveries.sqlite");
    this.#database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule] });
    this.store = SqliteDeliveryStore.open(this.#database);
    this.dispatcher = new Dispatcher({
      store: this.store,
      host: this.host,
      clock: { now: () => Date.now() },
      logger: { debug() {}, info() {}, warn() {}, error: (_fields, message) => void this.logged.push(message) },
      events: { dispatched: () => undefined, settled: async (event) => void this.settled.push(event) },
      concurrency: () => this.concurrency,
      isBusy: () => this.busy,
      ...overrides,
    });
  }

  /** Accepts a delivery without handing its runs to the dispatcher; gives their ids. */
  async accept(...specs: RunSpec[]): Promise<readonly string[]> {
    const outcome = await this.store.accept({
      receivedAt: Date.now(),
      route: "agent",
      mappingId: null,
      name: "Test",
      headers: {},
      query: {},
      body: new Uint8Array(),
      runs: specs.map((spec) => ({ lane: spec.sessionKey, spec })),
    });
    return outcome.kind === "conflict" ? [] : outcome.runIds;
  }

  async acceptAndEnqueue(...specs: RunSpec[]): Promise<readonly string[]> {
    const runIds = await this.accept(...specs);
    this.dispatcher.enqueue(
      specs.map((spec, at) => ({ runId: runIds[at]!, lane: spec.sessionKey, kind: spec.kind, state: "queued" })),
    );
    return runIds;
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

  async close(): Promise<void> {
    await this.dispatcher.stop(Date.now());
    await this.#database.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
