/** A run as it travels from policy to the store and to those who look at it. */
import type { AgentActivity, Permissions, TextRights, WorkspaceSpec } from "./agent-rights.ts";
import type { Chain } from "./chain.ts";
import type { ExtractSpec } from "./extraction.ts";
import type { Level } from "./level.ts";
import type { ChannelTarget } from "./host.ts";
import type { HiddenCounts, TextKind } from "./boundary/remove-hidden.ts";
import type { TokenUsage } from "./token-usage.ts";

export type WakeMode = "now" | "next-heartbeat";

/** The states of a delivery and of a run (docs/extend/architecture.md, rule 5). */
export const STATES = [
  "filtered",
  "skipped",
  "duplicate",
  "coalesced",
  "queued",
  "running",
  "held",
  "done",
  "failed",
  "canceled",
] as const;
export type State = (typeof STATES)[number];
export type RunState = Extract<State, "queued" | "running" | "held" | "done" | "failed" | "canceled" | "skipped">;

/** The final states of a run. */
export type SettledState = Extract<RunState, "done" | "failed" | "canceled" | "skipped">;

/** The final states of a delivery without runs; `failed`: its transform or template failed. */
export type EndedState = Extract<State, "filtered" | "skipped" | "failed" | "duplicate" | "coalesced">;

/** An action that policy has passed: agent, session and target no longer change. */
export type RunSpec = WakeSpec | AgentSpec;

/** What an event is about, and the text that it shows of it. */
export interface EventObject {
  /** The same for every event about it. */
  readonly id: string;
  /** Absent: what it shows is not known. */
  readonly text?: string;
}

/** The text of a run, which someone else wrote. */
interface UntrustedText {
  /** What the text is; absent: `html`. */
  readonly textKind?: TextKind | undefined;
  /** What no one sees of it, and was taken out; absent: nothing. */
  readonly hidden?: HiddenCounts | undefined;
  /** Of a held event that another one may approve: digests of what it is about. */
  readonly object?: EventObject | undefined;
}

/** A run that an ended wait began. */
interface Resuming {
  /** The wait. The call that ended it belongs to someone else, so its caller never gets the run's reply. */
  readonly resumes?: string | undefined;
}

/** True for a run whose reply its caller may have: a run that resumes another's session is none. */
export function isOfCaller({ resumes }: RunSpec): boolean {
  return resumes === undefined;
}

export interface WakeSpec extends UntrustedText, Resuming {
  readonly kind: "wake";
  readonly text: string;
  readonly name: string;
  /** The author of the name; absent: the caller. */
  readonly nameBy?: "owner";
  readonly agentId: string;
  /** The session of the event; by default the main session of the agent. */
  readonly sessionKey: string;
  readonly mode: WakeMode;
  readonly source: string;
  readonly unsafe: boolean;
  /** Where the owner wrote the text, which is outside the boundary then; the reply goes there. */
  readonly owner?: ChannelTarget;
  /** What the mapping leaves of what the agent may do where it reads the text; absent: all of it. */
  readonly rights?: TextRights | undefined;
  /** The rendering of calls that were coalesced into the run; absent: it has one call. */
  readonly coalesce?: CoalesceMode;
}

/** `latest`: the last call speaks for all; `list`: each is rendered. */
export type CoalesceMode = "latest" | "list";

export interface AgentSpec extends UntrustedText, Resuming {
  readonly kind: "agent";
  /** The owner's words to the agent, outside the boundary. */
  readonly instructions?: string | undefined;
  readonly message: string;
  readonly name: string;
  /** The author of the name; absent: the caller. A name from the payload is quoted outside the boundary. */
  readonly nameBy?: "owner";
  readonly agentId: string;
  readonly sessionKey: string;
  readonly wakeMode: WakeMode;
  readonly model?: string;
  readonly thinking?: string;
  /** Of the person behind the event; absent: nothing is known. */
  readonly level?: Level | undefined;
  /** Of an event that a run of the gateway caused. */
  readonly chain?: Chain | undefined;
  /** `none`: the agent has no tools in this run. */
  readonly tools?: "none" | undefined;
  /** What the mapping leaves of what the agent may do; absent: all of it. */
  readonly permissions?: Permissions | undefined;
  /** What is left of the hosts that the agent's programs can reach; absent: all of them. */
  readonly egress?: readonly string[] | undefined;
  /** Where the agent works; absent: where it works otherwise. */
  readonly workspace?: WorkspaceSpec | undefined;
  /** What the agent is given instead of the message; absent: the message itself. */
  readonly extract?: ExtractSpec | undefined;
  /** `persistent`: the run continues the conversation of its session key. */
  readonly sessionMode?: "persistent" | undefined;
  readonly timeoutMs: number;
  /** The crash recovery of the run. */
  readonly interrupted: "rerun" | "hold";
  /** The source that the boundary names: `Webhook`, `Email`. */
  readonly source: string;
  readonly unsafe: boolean;
  /** The target of the reply; absent when none is sent. */
  readonly delivery?: ReplyTarget;
  /** The target of a reply that cannot be sent there. */
  readonly fallback?: ReplyTarget;
  /** `deliver`: the message itself is delivered, and no agent runs. */
  readonly mode?: "deliver";
  /** The URL that receives the result. */
  readonly callbackUrl?: string;
  /** The rendering of calls that were coalesced into the run; absent: it has one call. */
  readonly coalesce?: CoalesceMode;
  /** The caller's `traceparent`, passed on to what the run calls. */
  readonly traceparent?: string | undefined;
}

/** The reply's target, resolved when the call was accepted. */
export type ReplyTarget = ChannelTarget | { readonly unresolved: string };

/** Begins the reason of a run that waits for a person because of the level of who acted. */
export const QUARANTINE = "quarantine: ";
/** Begins the reason of a run whose reply waits for a person to let it go. */
export const HELD_REPLY = "held reply: ";

/**
 * The steps after a run, in their order; each is carried out at most once per run. `released`: a person let a reply
 * leave that was held.
 */
export const RUN_STEPS = ["summarized", "delivered", "heartbeat", "called-back", "released"] as const;
export type RunStep = (typeof RUN_STEPS)[number];

/** A step that was carried out. */
export interface StepTime {
  readonly step: RunStep;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** One action with its state and its attempts. */
export interface RunDetail {
  readonly id: string;
  readonly state: RunState;
  readonly reason: string | null;
  readonly spec: RunSpec;
  readonly attempts: readonly Attempt[];
  /** The agent's reply, cut to 2,000 characters; `null` before there is one. */
  readonly reply: string | null;
  readonly delivery: ReplyOutcome;
  /** Before this time (ISO 8601 UTC) a queued run is not begun: it waits for a retry or coalesces calls. */
  readonly dueAt: string | null;
  /** Calls in it; 1 unless calls were coalesced into it. */
  readonly calls: number;
  /** The steps after the reply, in order of time, where their time is known. */
  readonly steps: readonly StepTime[];
  /** ISO 8601 UTC; `null` while it is open. */
  readonly settledAt: string | null;
}

/** The outcome of a reply; `fallback`: it was sent to the fallback target. */
export type ReplyOutcome = "none" | "pending" | "sent" | "suppressed" | "failed" | "no-target" | "fallback";

/** One try at a run. */
export interface Attempt {
  readonly number: number;
  /** ISO 8601 UTC. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** `interrupted` when the process died under it. */
  readonly status: "running" | "ok" | "error" | "timeout" | "aborted" | "interrupted";
  readonly error: string | null;
  /** What the model counted, where the host knows. */
  readonly usage?: TokenUsage;
  /** What the agent did, in order, where the host knows; bounded. */
  readonly activity?: readonly AgentActivity[];
}
