/** One streamed chat completion of an OpenAI-compatible endpoint. */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { createParser } from "eventsource-parser";
import type { ProviderConfig } from "../config/file.ts";

export interface CompletionRequest {
  readonly provider: ProviderConfig;
  /** The body of the request without `stream`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** A longer response fails with a {@link ResponseTooLargeError}, framing and reasoning included. */
  readonly maxResponseBytes: number;
  /** Sent as the header of that name. */
  readonly traceparent?: string | undefined;
  /** Ends the request and closes its connection. */
  readonly signal: AbortSignal;
  /** Receives the reply piece by piece; reasoning arrives as an empty piece. What it throws ends the request. */
  readonly onText: (text: string) => void;
  /** Receives the calls of tools that the model asks for, piece by piece. */
  readonly onToolCall?: (piece: ToolCallPiece) => void;
  /** Receives what the endpoint counted, if it does, before the end. */
  readonly onUsage?: (usage: CompletionUsage) => void;
}

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

  /** `message` is the sentence of an error in OpenAI's shape, else the start of the body. */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The endpoint sent more than it may; the reply that was being read is worthless. */
export class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";

  constructor(maxBytes: number) {
    super(`the response is larger than ${maxBytes} bytes`);
  }
}

/** Bytes of an error's body that are read; far less of it is shown. */
const MAX_ERROR_BODY_BYTES = 16_384;

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
      readonly reasoning?: unknown;
      readonly reasoning_content?: unknown;
      readonly tool_calls?: unknown;
    };
    readonly finish_reason?: unknown;
  }[];
}

/**
 * Resolves when the endpoint has said that its reply is complete. Follows no redirect: it would carry the prompt,
 * and perhaps the key, to an address that is not in the configuration.
 *
 * Rejects with an {@link EndpointStatusError}, a {@link ResponseTooLargeError}, the error of the connection, or an
 * error whose message says what is wrong with the stream.
 */
export async function streamCompletion(completion: CompletionRequest): Promise<void> {
  const { provider, body } = completion;
  const response = await ask(provider, body, completion);
  try {
    if (response.statusCode !== 200) {
      throw new EndpointStatusError(response.statusCode ?? 0, errorWords(await readStart(response)));
    }
    await readStream(response, completion);
  } finally {
    response.destroy();
  }
}

/** Keys that an endpoint may refuse: it is asked without them then. */
const OPTIONAL_KEYS = ["stream_options", "response_format"] as const;
/** Those that the endpoint of a provider has refused; a reload forgets them. */
const refusedKeys = new WeakMap<ProviderConfig, Set<string>>();

/** Asks for the counts of tokens as well, and for a form where the body has one, unless the endpoint refuses that. */
async function ask(provider: ProviderConfig, body: object, sending: Sending): Promise<IncomingMessage> {
  const refused = refusedKeys.get(provider) ?? new Set();
  refusedKeys.set(provider, refused);
  const whole = { ...body, stream: true, stream_options: { include_usage: true } };
  for (;;) {
    const sent = Object.entries(whole).filter(([key]) => !refused.has(key));
    const response = await send(provider, JSON.stringify(Object.fromEntries(sent)), sending);
    if (response.statusCode !== 400 && response.statusCode !== 422) return response;
    const words = await readStart(response);
    response.destroy();
    const key = OPTIONAL_KEYS.find((each) => words.includes(each) && sent.some(([name]) => name === each));
    if (key === undefined) throw new EndpointStatusError(response.statusCode, errorWords(words));
    refused.add(key);
  }
}

type Sending = Pick<CompletionRequest, "signal" | "traceparent">;

function send(provider: ProviderConfig, body: string, sending: Sending): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const open = (): void => {
      const request = openRequest(provider, Buffer.byteLength(body), sending);
      let isAnswered = false;
      request.once("response", (response) => {
        isAnswered = true;
        resolve(response);
      });
      request.on("error", (error: NodeJS.ErrnoException) => {
        // The endpoint closed an idle connection while this request was on its way to it.
        const isStale = request.reusedSocket && error.code === "ECONNRESET" && !isAnswered;
        if (isStale && !sending.signal.aborted) open();
        else reject(error);
      });
      request.end(body);
    };
    open();
  });
}

/** Node's own agents keep connections open, and go through a proxy where `NODE_USE_ENV_PROXY` says so. */
function openRequest(
  { baseUrl, apiKey, headers }: ProviderConfig,
  length: number,
  { signal, traceparent }: Sending,
): ClientRequest {
  const url = new URL(`${baseUrl.replace(/\/+$/u, "")}/chat/completions`);
  return (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": length,
      accept: "text/event-stream",
      "accept-encoding": "identity",
      "user-agent": "reveille",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...headers,
    },
    signal,
  });
}

async function readStream(
  response: IncomingMessage,
  { maxResponseBytes, onText, onUsage, onToolCall }: CompletionRequest,
): Promise<void> {
  const type = response.headers["content-type"] ?? "";
  if (!type.startsWith("text/event-stream")) {
    throw new Error(`the response is no event stream (content-type ${JSON.stringify(type)})`);
  }
  let isComplete = false;
  const parser = createParser({
    onEvent: ({ data }) => {
      isComplete = readEvent(data, { onText, onUsage, onToolCall }) || isComplete;
    },
  });
  let left = maxResponseBytes;
  response.setEncoding("utf8");
  for await (const text of response as AsyncIterable<string>) {
    left -= Buffer.byteLength(text);
    if (left < 0) throw new ResponseTooLargeError(maxResponseBytes);
    parser.feed(text);
  }
  if (!isComplete) throw new Error("the response ended before the reply was complete");
}

interface Receivers extends Pick<CompletionRequest, "onText" | "onUsage"> {
  readonly onToolCall: CompletionRequest["onToolCall"];
}

/** True when the event says that the reply is complete. */
function readEvent(data: string, { onText, onUsage, onToolCall }: Receivers): boolean {
  if (data === "[DONE]") return true;
  const chunk = parseChunk(data);
  if (chunk.error !== undefined) throw new Error(sentenceOf(chunk.error));
  const usage = usageOf(chunk.usage);
  if (usage !== undefined) onUsage?.(usage);
  const choice = chunk.choices?.[0];
  const { content, reasoning, reasoning_content: reasoningContent } = choice?.delta ?? {};
  for (const piece of toolCallPieces(choice?.delta?.tool_calls)) onToolCall?.(piece);
  if (typeof content === "string" && content !== "") onText(content);
  else if (typeof (reasoning ?? reasoningContent) === "string") onText("");
  return typeof choice?.finish_reason === "string";
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

async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes >= MAX_ERROR_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).toString("utf8", 0, MAX_ERROR_BODY_BYTES);
}

function errorWords(body: string): string {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown };
    return error === undefined ? body : sentenceOf(error);
  } catch {
    return body;
  }
}

/** `{ message }` in OpenAI's shape; some endpoints send the sentence alone. */
function sentenceOf(error: unknown): string {
  if (typeof error === "string") return error;
  const hasMessage = typeof error === "object" && error !== null && "message" in error;
  return hasMessage && typeof error.message === "string" ? error.message : JSON.stringify(error);
}
