/** One event of a streamed chat completion. */

/** A part of one call: its id and name come first, its arguments in pieces. */
export interface ToolCallPiece {
  readonly index: number;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

/** The tokens of one completion, as the endpoint counted them. */
export interface CompletionUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number | undefined;
  /** In US dollars; some endpoints say it. */
  readonly costUsd: number | undefined;
}

/** The endpoint answered with another status than 200. */
export class EndpointStatusError extends Error {
  override readonly name = "EndpointStatusError";
  readonly status: number;
  /** The time that it asks for. */
  readonly retryAfterMs: number | undefined;

  /** `message` is the sentence of an error in OpenAI's shape, else the start of the body. */
  constructor(status: number, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The fields of a chunk that are read; endpoints add fields of their own. */
interface CompletionChunk {
  readonly error?: unknown;
  readonly usage?: {
    readonly prompt_tokens?: unknown;
    readonly completion_tokens?: unknown;
    readonly prompt_tokens_details?: { readonly cached_tokens?: unknown } | null;
    readonly cost?: unknown;
  } | null;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: unknown;
      readonly refusal?: unknown;
      readonly reasoning?: unknown;
      readonly reasoning_content?: unknown;
      readonly tool_calls?: unknown;
    };
    readonly finish_reason?: unknown;
  }[];
}

/** Who is given what the events bring. */
export interface EventReceivers {
  /** Receives the reply piece by piece; reasoning arrives as an empty piece. What it throws ends the request. */
  readonly onText: (text: string) => void;
  /** Receives the calls of tools that the model asks for, piece by piece. */
  readonly onToolCall?: (piece: ToolCallPiece) => void;
  /** Receives what the endpoint counted, if it does, before the end. */
  readonly onUsage?: (usage: CompletionUsage) => void;
}

/** The reason that the event gives for the end of the reply, if it is the end. Throws what is wrong with the event. */
export function readEvent(data: string, { onText, onUsage, onToolCall }: EventReceivers): string | undefined {
  const chunk = parseChunk(data);
  if (chunk.error !== undefined && chunk.error !== null) throw errorOf(chunk.error);
  const usage = usageOf(chunk.usage);
  if (usage !== undefined) onUsage?.(usage);
  const choice = chunk.choices?.[0];
  const { refusal, reasoning, reasoning_content: reasoningContent } = choice?.delta ?? {};
  // A model that is to fill in a form refuses in a field of its own.
  const content = choice?.delta?.content ?? refusal;
  for (const piece of toolCallPieces(choice?.delta?.tool_calls)) onToolCall?.(piece);
  if (typeof content === "string" && content !== "") onText(content);
  else if (typeof (reasoning ?? reasoningContent) === "string") onText("");
  return textOr(choice?.finish_reason);
}

/** An endpoint that has begun to answer 200 has no other place for a status. */
function errorOf(error: unknown): Error {
  const { code } = error as { readonly code?: unknown };
  const isStatus = typeof code === "number" && code >= 400 && code <= 599;
  return isStatus ? new EndpointStatusError(code, sentenceOf(error)) : new Error(sentenceOf(error));
}

function toolCallPieces(written: unknown): ToolCallPiece[] {
  if (!Array.isArray(written)) return [];
  return written.flatMap((piece: unknown, at) => {
    if (typeof piece !== "object" || piece === null) return [];
    const { index = at, id, function: called } = piece as Readonly<Record<string, unknown>>;
    const { name, arguments: args } = (called ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof index !== "number") return [];
    return [{ index, id: textOr(id), name: textOr(name), arguments: textOr(args) ?? "" }];
  });
}

function textOr(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** `undefined` when there is none, or none that makes sense. */
function usageOf(written: CompletionChunk["usage"]): CompletionUsage | undefined {
  const inputTokens = countOf(written?.prompt_tokens);
  const outputTokens = countOf(written?.completion_tokens);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const { cost } = written ?? {};
  const costUsd = typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
  return { inputTokens, outputTokens, cachedTokens: countOf(written?.prompt_tokens_details?.cached_tokens), costUsd };
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function parseChunk(data: string): CompletionChunk {
  try {
    const parsed: unknown = JSON.parse(data);
    if (typeof parsed === "object" && parsed !== null) return parsed;
  } catch {
    // Said below.
  }
  throw new Error("the response has an event that is no JSON object");
}

/** `{ message }` in OpenAI's shape; some endpoints send the sentence alone. */
export function sentenceOf(error: unknown): string {
  if (typeof error === "string") return error;
  const hasMessage = typeof error === "object" && error !== null && "message" in error;
  return hasMessage && typeof error.message === "string" ? error.message : JSON.stringify(error);
}
