import type { KeyObject } from "node:crypto";
import type { TokenUsage } from "../core/token-usage.ts";
import type { CallbacksConfig } from "../config/callbacks.ts";
import type { SettledState, AgentSpec } from "../core/run.ts";
import type { DispatchedEvent, SettledEvent } from "../core/events.ts";
import type { Clock, GatewayHost, Logger, RunChain } from "../core/host.ts";
import type { CheckOutgoing } from "../core/outgoing/check-outgoing.ts";
import type { Measurements } from "../core/measurements.ts";
import type { GuardedFetch } from "../http/guarded-fetch.ts";
import type { DeliveryStore, StoredRun } from "../storage/delivery-store.ts";
import type { OpenRun } from "../storage/open-run.ts";
import type { OutgoingFor } from "./outgoing.ts";
import type { DispatchRules } from "./rules.ts";

/** The parts that the dispatcher and its runners share. */
export interface DispatchContext {
  readonly store: DeliveryStore;
  readonly host: Pick<GatewayHost, "agents" | "channels" | "sessions">;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: RunEvents;
  /** By the active configuration. */
  readonly rulesFor: (mappingId: string | null) => DispatchRules;
  /** The places that results may be sent to, by the active configuration. */
  readonly callbacks: () => CallbacksConfig | undefined;
  /** What runs may let out, by the active configuration. */
  readonly outgoingFor: OutgoingFor;
  /** Of the gateway, for the canaries of its runs. */
  readonly key: KeyObject;
  /** Sends callbacks. */
  readonly fetch: GuardedFetch;
  /** For a host that cannot begin a run: it is asked again immediately for that long. */
  readonly beginRetry: RetrySchedule;
  readonly notices: Notices;
  readonly outages: Outages;
  readonly measurements: Measurements;
  /** Counts what a run has used against the budgets of its mapping. */
  readonly spend: (mappingId: string | null, usage: TokenUsage) => void;
  /** Resolves when the store has all runs that were counted against budgets; nothing begins before. Never rejects. */
  readonly counted: () => Promise<unknown> | undefined;
  /** Aborted at the shutdown's deadline: active runs stay on disk. */
  readonly abandon: AbortSignal;
}

/** The number and duration of retries of a step after the durable line. */
export interface RetrySchedule {
  /** Tries in all; `Infinity` until the signal is aborted. */
  readonly tries: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/** Observers of runs; they neither throw nor reject. */
export interface RunEvents {
  dispatched(event: DispatchedEvent): Promise<void> | undefined;
  settled(event: SettledEvent): Promise<void> | undefined;
}

/** Notifies the gateway's owner, in the main session and on a chosen channel. */
export interface Notices {
  /** Never rejects; a notice is sent once for each key. */
  notify(notice: Notice): Promise<void>;
}

export interface Notice {
  readonly key: string;
  /** In the gateway's own words: an agent reads them as those of its gateway. */
  readonly text: string;
  /** In the words of others, such as the error of a host, a channel or a model: an agent reads them as untrusted. */
  readonly detail?: string | undefined;
}

/** Tracks outages, so that the owner gets one notice per outage and not one per delivery. */
export interface Outages {
  /** Records a permanent failure; the first one of a subject sends a {@link Notice}. Never rejects. */
  failed(subject: string, text: string, failure?: Failure): Promise<void>;
  /**
   * The subject works: its next failure is a new outage. With `text`, the owner of a notice gets another one that
   * the outage is over. Costs nothing while there is none. Never rejects.
   */
  works(subject: string, text?: string): Promise<void> | undefined;
  /** Resolves when pending notices are sent or given up. Never rejects. */
  written(): Promise<void>;
}

/** One failure of a subject. */
export interface Failure {
  /** In the words of others. */
  readonly detail?: string | undefined;
  /** What met it, such as a mapping: the notice that the outage is over counts these and names them. */
  readonly of?: string | undefined;
}

/** The state in which a runner leaves a run. */
export type CarriedOut =
  /** Settled, held, gone, or left on disk by a shutdown. */
  { readonly kind: "ended" } | PostponedRun;

/** It is tried again. */
export interface PostponedRun {
  readonly kind: "postponed";
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  /** Nothing of its lane goes before it. */
  readonly holdsLane: boolean;
  /** The agent has replied, only what follows is left. */
  readonly replied: boolean;
  /** The host would not begin it: nothing was spent, and it has not begun. */
  readonly refused?: boolean;
}

/** An open run past its lane: it stands there already. */
export type TakenRun = Omit<OpenRun, "lane">;

/** Carries out one run; `stop` is aborted when a person cancels it. */
export interface Runner {
  carryOut(run: TakenRun, stop: AbortSignal): Promise<CarriedOut>;
}

/** Runs that were settled outside the dispatcher. */
export interface Withdrawal {
  readonly runIds: readonly string[];
  readonly state: SettledState;
  readonly reason: string;
}

/** One agent run as the parts of its runner work on it. */
export interface ActiveRun {
  readonly stored: StoredRun;
  readonly spec: AgentSpec;
  readonly mappingId: string | null;
  /** By the active configuration at its beginning. */
  readonly checkOutgoing: CheckOutgoing;
  /** Where it is in its chain, with the mark of what it leaves. */
  readonly chain: RunChain;
  /** The form that the agent is given in place of the text, once it is filled. */
  readonly extraction: { content?: string };
  /** Aborted when a person cancels the run, and when a shutdown leaves it on disk. */
  readonly ending: AbortSignal;
}

/** A step that is tried again later. */
export interface RetryLater {
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  readonly reason: string;
}

/** True for a step that is tried again later. */
export function isRetryLater(value: object): value is RetryLater {
  return "dueAt" in value;
}
