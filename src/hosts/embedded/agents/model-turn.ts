/** One turn of a model behind an OpenAI-compatible endpoint. */
import { setTimeout as sleep } from "node:timers/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import type { Logger } from "../../../core/host.ts";
import { cappedFetch } from "./model-endpoint.ts";
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
  | { readonly reply: string }
  /** `retryable`: nothing of an answer has arrived, and the same turn may succeed later. */
  | { readonly error: string; readonly retryable?: true };

const EFFORTS: ReadonlySet<string> = new Set(["minimal", "low", "medium", "high"]);

/**
 * Asks the model and reads its reply as it streams. A request that nobody took, or that was
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
      return { reply: outcome.reply };
    }
    if (!outcome.retryable || turn.signal.aborted) {
      return { error: outcome.error };
    }
    if (delayMs === undefined) {
      return { error: outcome.error, retryable: true };
    }
    const provider = turn.model.providerId;
    options.logger.warn({ provider, attempt: attempt + 1, error: outcome.error }, "model request is tried again");
    try {
      await sleep(delayMs, undefined, { signal: turn.signal });
    } catch {
      return { error: outcome.error };
    }
  }
}

type ModelAttempt =
  | { readonly kind: "reply"; readonly reply: string }
  | { readonly kind: "failure"; readonly error: string; readonly retryable: boolean };

async function attemptTurn(turn: ModelTurn, limits: ModelTurnLimits): Promise<ModelAttempt> {
  // Ends the request when reading stops early; the caller's signal alone would leave it running.
  const reading = new AbortController();
  let reply = "";
  let begun = false;
  try {
    for await (const part of startStream(turn, limits, AbortSignal.any([turn.signal, reading.signal]))) {
      begun ||= part.type === "text-delta" || part.type === "reasoning-delta";
      if (part.type === "text-delta") {
        reply += part.text;
        if (reply.length > limits.maxReplyChars) {
          const error = `The model's reply is longer than ${limits.maxReplyChars} characters and was not taken.`;
          return { kind: "failure", error, retryable: false };
        }
      } else if (part.type === "error") {
        return failedAttempt(part.error, turn, begun);
      } else if (part.type === "abort") {
        return { kind: "failure", error: "The turn was aborted.", retryable: false };
      }
    }
    return { kind: "reply", reply };
  } catch (error) {
    return failedAttempt(error, turn, begun);
  } finally {
    reading.abort();
  }
}

function failedAttempt(error: unknown, turn: ModelTurn, begun: boolean): ModelAttempt {
  if (turn.signal.aborted) {
    return { kind: "failure", error: "The turn was aborted.", retryable: false };
  }
  const { message, retryable } = describeModelFailure(error, turn.model);
  return { kind: "failure", error: message, retryable: retryable && !begun };
}

function startStream(turn: ModelTurn, limits: ModelTurnLimits, abortSignal: AbortSignal) {
  const { provider, modelId } = turn.model;
  const endpoint = createOpenAICompatible({
    name: "openaiCompatible",
    baseURL: provider.baseUrl,
    ...(provider.apiKey === undefined ? {} : { apiKey: provider.apiKey }),
    headers: { ...provider.headers },
    fetch: cappedFetch(limits.maxResponseBytes),
  });
  const effort = turn.thinking !== undefined && EFFORTS.has(turn.thinking) ? turn.thinking : undefined;
  return streamText({
    model: endpoint(modelId),
    ...(turn.systemPrompt === undefined ? {} : { instructions: turn.systemPrompt }),
    messages: turn.messages.map(({ role, text }) => ({ role, content: text })),
    ...(effort === undefined ? {} : { providerOptions: { openaiCompatible: { reasoningEffort: effort } } }),
    abortSignal,
    maxRetries: 0,
    // Errors are read from the stream; left alone the library prints them, prompt included.
    onError: () => undefined,
  }).stream;
}
