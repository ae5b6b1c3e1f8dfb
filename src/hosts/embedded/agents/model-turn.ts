/** One turn of a model behind an OpenAI-compatible endpoint. */
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenUsage } from "../../../core/token-usage.ts";
import type { Logger } from "../../../core/host.ts";
import { streamCompletion } from "./chat-completion.ts";
import { describeModelFailure } from "./model-failure.ts";
import type { ResolvedModel } from "./model-endpoint.ts";

/** One message of a conversation, as a model is given it. */
export interface TurnMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface ModelTurn {
  readonly model: ResolvedModel;
  readonly systemPrompt: string | undefined;
  /** In order; the last one is the user's. */
  readonly messages: readonly TurnMessage[];
  /** `minimal`, `low`, `medium` and `high` are sent as the reasoning effort; anything else is not. */
  readonly thinking: string | undefined;
  readonly signal: AbortSignal;
  /** Of the caller whose event led to the turn. */
  readonly traceparent?: string | undefined;
  /** For the log. */
  readonly of: TurnIds;
}

/** The conversation or run that a turn belongs to. */
export interface TurnIds {
  readonly agentId: string;
  readonly sessionKey: string;
  /** Absent: a turn of the session itself. */
  readonly runId?: string;
}

/** Bounds of a turn; the defaults are what the gateway runs with. */
export interface ModelTurnLimits {
  /** Waits before the second and every further try; their number bounds the tries. */
  readonly retryDelaysMs: readonly number[];
  /** The longest reply that is taken, in UTF-16 units. */
  readonly maxReplyChars: number;
  /** The longest response that is read, framing and reasoning included. */
  readonly maxResponseBytes: number;
}

export const DEFAULT_MODEL_TURN_LIMITS: ModelTurnLimits = {
  retryDelaysMs: [500, 2_000],
  maxReplyChars: 1_048_576,
  maxResponseBytes: 67_108_864,
};

/** A reply, or what went wrong in words that hold no secret. */
export type ModelOutcome =
  | { readonly reply: string; readonly usage?: TokenUsage | undefined }
  /** `retryable`: nothing of an answer has arrived, and the same turn may succeed later. */
  | { readonly error: string; readonly retryable?: true };

const EFFORTS: ReadonlySet<string> = new Set(["minimal", "low", "medium", "high"]);

/**
 * Asks the model and reads its reply as it streams. A request that no one took, or that was
 * answered 408, 429 or 5xx, is sent again as long as nothing of an answer has arrived. An abort of
 * the signal ends the turn with an error at once.
 */
export async function runModelTurn(
  turn: ModelTurn,
  options: { logger: Logger; limits?: ModelTurnLimits },
): Promise<ModelOutcome> {
  const limits = options.limits ?? DEFAULT_MODEL_TURN_LIMITS;
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await attemptTurn(turn, limits);
    const delayMs = limits.retryDelaysMs[attempt];
    if (outcome.kind === "reply") {
      return { reply: outcome.reply, usage: outcome.usage };
    }
    if (!outcome.retryable || turn.signal.aborted) {
      return { error: outcome.error };
    }
    if (delayMs === undefined) {
      return { error: outcome.error, retryable: true };
    }
    const provider = turn.model.providerId;
    options.logger.warn(
      { ...turn.of, provider, attempt: attempt + 1, error: outcome.error },
      "model request is tried again",
    );
    try {
      await sleep(delayMs, undefined, { signal: turn.signal });
    } catch {
      return { error: outcome.error };
    }
  }
}

type ModelAttempt =
  | { readonly kind: "reply"; readonly reply: string; readonly usage: TokenUsage | undefined }
  | { readonly kind: "failure"; readonly error: string; readonly retryable: boolean };

async function attemptTurn(turn: ModelTurn, limits: ModelTurnLimits): Promise<ModelAttempt> {
  const { model, signal } = turn;
  let reply = "";
  let begun = false;
  let usage: TokenUsage | undefined;
  try {
    if (signal.aborted) return { kind: "failure", error: "The turn was aborted.", retryable: false };
    await streamCompletion({
      provider: model.provider,
      body: bodyOf(turn),
      maxResponseBytes: limits.maxResponseBytes,
      traceparent: turn.traceparent,
      signal,
      onText: (text) => {
        begun = true;
        reply += text;
        if (reply.length > limits.maxReplyChars) throw new ReplyTooLongError();
      },
      onUsage: (counted) => {
        usage = { model: `${model.providerId}/${model.modelId}`, ...counted };
      },
    });
    return { kind: "reply", reply, usage };
  } catch (error) {
    if (error instanceof ReplyTooLongError) {
      const words = `The model's reply is longer than ${limits.maxReplyChars} characters and was not taken.`;
      return { kind: "failure", error: words, retryable: false };
    }
    return failedAttempt(error, turn, begun);
  }
}

class ReplyTooLongError extends Error {}

function failedAttempt(error: unknown, turn: ModelTurn, begun: boolean): ModelAttempt {
  if (turn.signal.aborted) {
    return { kind: "failure", error: "The turn was aborted.", retryable: false };
  }
  const { message, retryable } = describeModelFailure(error, turn.model);
  return { kind: "failure", error: message, retryable: retryable && !begun };
}

function bodyOf({ model, systemPrompt, messages, thinking }: ModelTurn): Readonly<Record<string, unknown>> {
  return {
    model: model.modelId,
    messages: [
      ...(systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]),
      ...messages.map(({ role, text }) => ({ role, content: text })),
    ],
    ...(thinking !== undefined && EFFORTS.has(thinking) ? { reasoning_effort: thinking } : {}),
  };
}
