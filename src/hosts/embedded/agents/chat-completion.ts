/** One streamed chat completion of an OpenAI-compatible endpoint. */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { createParser } from "eventsource-parser";
import type { ProviderConfig } from "../config/file.ts";
import { EndpointStatusError, type EventReceivers, readEvent, sentenceOf } from "./completion-event.ts";

export interface CompletionRequest extends EventReceivers {
  readonly provider: ProviderConfig;
  /** The body of the request without `stream`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** A longer response fails with a {@link ResponseTooLargeError}, framing and reasoning included. */
  readonly maxResponseBytes: number;
  /** Sent as the header of that name. */
  readonly traceparent?: string | undefined;
  /** Ends the request and closes its connection. */
  readonly signal: AbortSignal;
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

/**
 * Resolves when the endpoint has said that its reply is complete, with the reason that it gives for the end. Follows
 * no redirect: it would carry the prompt, and perhaps the key, to an address that is not in the configuration.
 *
 * Rejects with an {@link EndpointStatusError}, a {@link ResponseTooLargeError}, the error of the connection, or an
 * error whose message says what is wrong with the stream.
 */
export async function streamCompletion(completion: CompletionRequest): Promise<string | undefined> {
  const { provider, body } = completion;
  const response = await ask(provider, body, completion);
  try {
    if (response.statusCode !== 200) {
      const words = errorWords(await readStart(response));
      throw new EndpointStatusError(response.statusCode ?? 0, words, retryAfterOf(response.headers));
    }
    return await readStream(response, completion);
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
  { maxResponseBytes, ...receivers }: CompletionRequest,
): Promise<string | undefined> {
  const type = response.headers["content-type"] ?? "";
  if (!type.startsWith("text/event-stream")) {
    throw new Error(`the response is no event stream (content-type ${JSON.stringify(type)})`);
  }
  let end: string | undefined;
  let late: NodeJS.Timeout | undefined;
  const parser = createParser({
    onEvent: ({ data }) => {
      // Some endpoints leave the connection open after their last event.
      if (data === DONE) late ??= setTimeout(() => response.destroy(), END_MS);
      else if (late === undefined) end = readEvent(data, receivers) ?? end;
    },
  });
  let left = maxResponseBytes;
  response.setEncoding("utf8");
  try {
    for await (const text of response as AsyncIterable<string>) {
      left -= Buffer.byteLength(text);
      if (left < 0) throw new ResponseTooLargeError(maxResponseBytes);
      parser.feed(text);
    }
  } catch (error) {
    // Of a reply that is complete, the end of the connection changes nothing.
    if (late === undefined) throw error;
  } finally {
    clearTimeout(late);
  }
  if (end === undefined && late === undefined) throw new Error("the response ended before the reply was complete");
  return end;
}

const DONE = "[DONE]";
/** Between the last event and the end of the response. */
const END_MS = 1_000;

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

/** In seconds, or as a date. */
function retryAfterOf({ "retry-after": written = "" }: IncomingHttpHeaders): number | undefined {
  const ms = /^\s*\d/u.test(written) ? Number(written) * 1_000 : Date.parse(written) - Date.now();
  return ms > 0 ? Math.ceil(ms) : undefined;
}

function errorWords(body: string): string {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown };
    return error === undefined ? body : sentenceOf(error);
  } catch {
    return body;
  }
}
