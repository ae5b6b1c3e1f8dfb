import type { CommitMeasurements, Measurements } from "../../core/measurements.ts";
import type { OutageState } from "../../dispatch/notify/outage-registry.ts";
import type { Backlog } from "../../storage/delivery-store.ts";
import type { IngressContext } from "../context.ts";
import type { HookOperations, HookStates } from "./hooks.ts";

/** The state of the ingress at one moment. */
export interface Gauges {
  /** Of the whole store; `undefined` where another gateway carries out the runs: a sum over gateways counts it once. */
  readonly backlog: Backlog | undefined;
  /** Agents, channels, targets and hooks that are out of order. */
  readonly outages: number;
  readonly hooks: HookStates;
}

interface GaugeSources {
  readonly ingress: IngressContext;
  readonly hooks: HookOperations;
  readonly outages: () => readonly OutageState[];
}

/** What is counted and measured, for metrics. */
export class GaugeOperations {
  readonly #sources: GaugeSources;

  constructor(sources: GaugeSources) {
    this.#sources = sources;
  }

  /** What was counted since the start of the process. */
  get measurements(): Measurements {
    return this.#sources.ingress.measurements;
  }

  get commits(): CommitMeasurements {
    return this.#sources.ingress.store.commits;
  }

  /** What is out of order now. */
  get outages(): readonly OutageState[] {
    return this.#sources.outages();
  }

  async read(): Promise<Gauges> {
    const { ingress, hooks } = this.#sources;
    const { store, dispatcher } = ingress;
    const [backlog, states] = await Promise.all([
      dispatcher.elsewhere.isHere ? store.backlog() : undefined,
      hooks.list(),
    ]);
    return { backlog, hooks: states, outages: this.outages.length };
  }
}
