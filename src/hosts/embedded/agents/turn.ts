/** The input and the result of a turn of any agent. */
import type { TokenUsage } from "../../../core/token-usage.ts";

/** One message of a conversation, as a model is given it. */
export interface TurnMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** The conversation or run that a turn belongs to. */
export interface TurnIds {
  readonly agentId: string;
  readonly sessionKey: string;
  /** Absent: a turn of the session itself. */
  readonly runId?: string;
}

/** A reply, or what went wrong in words that hold no secret. */
export type ModelOutcome =
  | { readonly reply: string; readonly usage?: TokenUsage | undefined }
  /** `retryable`: nothing of an answer has arrived, and the same turn may succeed later. */
  | {
      readonly error: string;
      readonly retryable?: true;
      /** With it: the time that the model asks for. */
      readonly retryAfterMs?: number | undefined;
      /** Present: it failed before the model was asked, and says nothing of its provider. */
      readonly isUnasked?: true;
      /** Present: the model's endpoint will not take what it was given, and the same turn fails again. */
      readonly isRefused?: true;
      readonly usage?: TokenUsage | undefined;
    };
