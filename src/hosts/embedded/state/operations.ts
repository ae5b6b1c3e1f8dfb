/** The writes of the embedded gateway: what each is given and what it answers. */
import type { ChannelMessage } from "../../../core/host.ts";

/** The bounds of the embedded gateway's state besides those of every host; documented in `docs/operate/gateway.md`. */
export const STATE_LIMITS = Object.freeze({
  /** The longest text kept of one message of a transcript, in UTF-16 units; the rest is cut. */
  maxMessageChars: 262_144,
  /** Messages kept of a session that has events, turns or a route of its own; the oldest go first. */
  maxSessionMessages: 1_000,
  /** Messages kept of a session that holds nothing but isolated runs. */
  maxRunSessionMessages: 200,
  /** Such sessions kept, give or take a few; the one that was idle longest goes first. */
  maxRunSessions: 10_000,
  /** Messages kept of what channels were given or are to be given. */
  maxOutboxMessages: 10_000,
});

/** Times are milliseconds since the epoch, on the host's clock. */
export interface BeginRun {
  readonly sessionKey: string;
  readonly runId: string;
  readonly prompt: string;
  /** What is left of the agent's rights to later turns of the session, as JSON; absent: all of them, or no turn reads it. */
  readonly rights?: string | undefined;
  readonly at: number;
}

/** `error`: a note for the owner on why there is no reply. */
export type MessageRole = "user" | "assistant" | "error";

export interface EndRun {
  readonly sessionKey: string;
  readonly runId: string;
  readonly role: Exclude<MessageRole, "user">;
  readonly text: string;
  readonly at: number;
}

/** A turn of the session itself, stored together with the events that it consumed. */
export interface AppendTurn {
  readonly sessionKey: string;
  readonly turnId: string;
  readonly user: string;
  readonly assistant: string;
  readonly eventIds: readonly number[];
  /** Put into the outbox as not yet sent. */
  readonly outgoing?: ChannelMessage | undefined;
  readonly at: number;
}

export interface SetRoute {
  readonly sessionKey: string;
  readonly channel: string;
  readonly to: string;
  readonly at: number;
}

/** What an agent with a memory of its own calls the session. */
export interface SetAgentSession {
  readonly sessionKey: string;
  readonly id: string;
  readonly at: number;
}

/** The outcome of a message for a channel. */
export type OutboxState = "pending" | "sent" | "failed";

export interface RecordMessage {
  readonly message: ChannelMessage;
  readonly state: OutboxState;
  readonly at: number;
}

/** One step of forgetting the transcripts of isolated runs. */
export interface ForgetRuns {
  /** The end of the step before; 0: from the beginning. */
  readonly after: number;
  /** Messages from before this time go. */
  readonly before: number;
  /** While messages of isolated runs count for more, the oldest go whatever their age; `null`: no bound. */
  readonly maxBytes: number | null;
  /** A run that began before this time is not in progress, even without an end. */
  readonly endedBefore: number;
  readonly now: number;
}

export interface ForgetRunsOutcome {
  /** Messages that are gone. */
  readonly removed: number;
  /** The start of the next step; `null`: there is nothing left to do. */
  readonly next: number | null;
}
