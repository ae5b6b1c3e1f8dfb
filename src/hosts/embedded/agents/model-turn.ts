/** One turn of a model behind an OpenAI-compatible endpoint. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelOutcome, TurnIds, TurnMessage } from "./turn.ts";
import { sumUsage, type TokenUsage } from "../../../core/token-usage.ts";
import type { Logger } from "../../../core/host.ts";
import { streamCompletion } from "./chat-completion.ts";
import { callMessage, CollectedCalls } from "./collected-calls.ts";
import { describeModelFailure, type ModelFailure } from "./model-failure.ts";
import { type Sent, shortened } from "./shortened.ts";
import type { ToolBox, ToolCall } from "./tool-servers.ts";
import type { ResolvedModel } from "./model-endpoint.ts";

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
  /** The tools that it can call, and how many requests it may make. */
  readonly tools?: { readonly box: ToolBox; readonly maxSteps: number } | undefined;
  /** The JSON Schema that the reply is to fit, for endpoints that take one. */
  readonly replySchema?: object | undefined;
  /** For the log. */
  readonly of: Omit<TurnIds, "sessionKey"> & Partial<Pick<TurnIds, "sessionKey">>;
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

/** What an agent says that has nothing to say. */
const SILENT = "NO_REPLY";
/** An endpoint that asks for more time is asked by a later attempt: this one has a place that others wait for. */
const MAX_WAIT_MS = 5_000;
const EFFORTS: ReadonlySet<string> = new Set(["minimal", "low", "medium", "high"]);

/** The requests of one turn: what was said between the first and the next. */
interface Step extends Sent {
  readonly usage: TokenUsage | undefined;
}

/**
 * Asks the model, carries out the calls of tools that it asks for, and asks again, until it replies without one. An
 * abort of the signal ends the turn with an error at once.
 */
export async function runModelTurn(
  turn: ModelTurn,
  options: { logger: Logger; limits?: ModelTurnLimits },
): Promise<ModelOutcome> {
  const { tools, messages } = turn;
  let step: Step = { messages, exchange: [], usage: undefined };
  for (let number = 1; ; number++) {
    const outcome = await askModel(turn, step, options);
    if ("shorter" in outcome) {
      const { error } = outcome;
      options.logger.warn({ ...turn.of, error }, "a turn is too long for its model; a part of it is left out");
      step = { ...step, ...outcome.shorter };
      number--;
      continue;
    }
    if ("error" in outcome) {
      if (step.exchange.length === 0) return outcome;
      return failed(outcome.error, sumUsage(step.usage, outcome.usage), outcome.isRefused);
    }
    const usage = sumUsage(step.usage, outcome.usage);
    if (tools === undefined || outcome.calls.length === 0) return { reply: outcome.reply, usage };
    if (number >= tools.maxSteps) {
      const error = `The model asked for tools in each of ${tools.maxSteps} requests and never replied (maxSteps).`;
      return failed(error, usage);
    }
    const results: object[] = [];
    for (const call of outcome.calls) {
      results.push({ role: "tool", tool_call_id: call.id, content: await tools.box.call(call) });
      if (turn.signal.aborted) return failed("The turn was aborted.", usage);
    }
    step = { ...step, exchange: [...step.exchange, callMessage(outcome), ...results], usage };
  }
}

type Failed = Extract<ModelOutcome, { readonly error: string }>;

/** What was counted before counts, however the turn ends. */
function failed(error: string, usage: TokenUsage | undefined, isRefused?: true): Failed {
  return { error, ...(usage && { usage }), ...(isRefused && { isRefused }) };
}

interface ModelReply {
  readonly reply: string;
  readonly calls: readonly ToolCall[];
  readonly usage: TokenUsage | undefined;
}

/**
 * Makes one request and reads the reply as it streams. A request that no one took, or that was
 * answered 408, 429 or 5xx, is sent again as long as nothing of an answer has arrived.
 */
async function askModel(
  turn: ModelTurn,
  step: Step,
  options: { logger: Logger; limits?: ModelTurnLimits },
): Promise<ModelReply | Failed | { readonly error: string; readonly shorter: Sent }> {
  const limits = options.limits ?? DEFAULT_MODEL_TURN_LIMITS;
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await attemptTurn(turn, step, limits);
    const delayMs = limits.retryDelaysMs[attempt];
    if (outcome.kind === "reply") {
      return outcome;
    }
    const shorter = outcome.isTooLong === true ? shortened(step) : undefined;
    if (shorter !== undefined) return { error: outcome.error, shorter };
    if (!outcome.retryable || turn.signal.aborted) return failed(outcome.error, outcome.usage, outcome.isRefused);
    const { error, retryAfterMs = 0 } = outcome;
    if (delayMs === undefined || retryAfterMs > MAX_WAIT_MS) {
      return { error, retryable: true, ...(retryAfterMs > 0 && { retryAfterMs }) };
    }
    const provider = turn.model.providerId;
    options.logger.warn(
      { ...turn.of, provider, attempt: attempt + 1, error: outcome.error },
      "model request is tried again",
    );
    try {
      await sleep(Math.max(delayMs, retryAfterMs), undefined, { signal: turn.signal });
    } catch {
      return { error: outcome.error };
    }
  }
}

type ModelAttempt =
  | ({ readonly kind: "reply" } & ModelReply)
  | ({
      readonly kind: "failure";
      readonly error: string;
      readonly usage?: TokenUsage | undefined;
    } & Omit<ModelFailure, "message">);

async function attemptTurn(turn: ModelTurn, step: Step, limits: ModelTurnLimits): Promise<ModelAttempt> {
  const { model, signal } = turn;
  let reply = "";
  let begun = false;
  let usage: TokenUsage | undefined;
  const calls = new CollectedCalls(limits.maxReplyChars);
  try {
    if (signal.aborted) return { kind: "failure", error: "The turn was aborted.", retryable: false };
    const end = await streamCompletion({
      provider: model.provider,
      body: bodyOf(turn, step),
      maxResponseBytes: limits.maxResponseBytes,
      traceparent: turn.traceparent,
      signal,
      onText: (text) => {
        begun = true;
        reply += text;
        if (reply.length > limits.maxReplyChars) throw new ReplyTooLongError();
      },
      onToolCall: (piece) => {
        begun = true;
        if (!calls.take(piece)) throw new ReplyTooLongError();
      },
      onUsage: (counted) => {
        usage = { model: `${model.providerId}/${model.modelId}`, ...counted };
      },
    });
    const isEmpty = reply.trim() === "" && calls.all().length === 0;
    const error = STOPPED.get(end) ?? (end === "length" && isEmpty ? OUT_OF_TOKENS : undefined);
    if (error !== undefined) {
      return { kind: "failure", error, retryable: false, usage, ...(end !== "error" && { isRefused: true }) };
    }
    return { kind: "reply", reply, usage, calls: calls.all() };
  } catch (error) {
    if (error instanceof ReplyTooLongError) {
      const words = `The model's reply is longer than ${limits.maxReplyChars} characters and was not taken.`;
      return { kind: "failure", error: words, retryable: false };
    }
    return failedAttempt(error, turn, begun);
  }
}

/** By the reason that the endpoint gives for the end: what has come of the reply is not what the model would have said. */
const STOPPED: ReadonlyMap<string | undefined, string> = new Map([
  ["content_filter", "The model's endpoint stopped the reply: its content filter refused it."],
  ["error", "The model's endpoint stopped the reply because of an error."],
]);
const OUT_OF_TOKENS = "The model used up its tokens before it replied (finish_reason: length).";

class ReplyTooLongError extends Error {}

function failedAttempt(error: unknown, turn: ModelTurn, begun: boolean): ModelAttempt {
  if (turn.signal.aborted) {
    return { kind: "failure", error: "The turn was aborted.", retryable: false };
  }
  const { message, ...failure } = describeModelFailure(error, turn.model);
  return { kind: "failure", error: message, ...failure, retryable: failure.retryable && !begun };
}

function bodyOf(
  { model, systemPrompt, thinking, tools, replySchema }: ModelTurn,
  { messages, exchange }: Step,
): Readonly<Record<string, unknown>> {
  const definitions = tools?.box.definitions ?? [];
  return {
    model: model.modelId,
    messages: [
      ...(systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]),
      // Some endpoints refuse a message without a text, and others two of one role in a row.
      ...messages.map(({ role, text }) => ({
        role,
        content: role === "assistant" && text.trim() === "" ? SILENT : text,
      })),
      ...exchange,
    ],
    ...(definitions.length === 0 ? {} : { tools: definitions }),
    ...(replySchema && {
      response_format: { type: "json_schema", json_schema: { name: "form", schema: replySchema } },
    }),
    ...(thinking !== undefined && EFFORTS.has(thinking) ? { reasoning_effort: thinking } : {}),
  };
}
