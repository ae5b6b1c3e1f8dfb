/** The failure of a model endpoint, in words for the gateway's owner. */
import type { ResolvedModel } from "./model-endpoint.ts";
import { ResponseTooLargeError } from "./chat-completion.ts";
import { EndpointStatusError } from "./completion-event.ts";

/** A failed turn. */
export interface ModelFailure {
  /** One line, at most a few hundred characters, without the endpoint's key or headers. */
  readonly message: string;
  /** True when the request reached no one or was turned away before anything was answered. */
  readonly retryable: boolean;
  /** True when the endpoint says that it was sent more than its model can read. */
  readonly isTooLong?: true;
  /** True when it will not take what it was sent: the same turn fails again. */
  readonly isRefused?: true;
  /** The time that the endpoint asks for before the same request. */
  readonly retryAfterMs?: number;
}

/** As endpoints say it: OpenAI's, Anthropic's, Gemini's, Groq's, Mistral's, those of vLLM, llama.cpp and LM Studio. */
const TOO_LONG =
  /context (?:length|window|size)|(?:prompt|input|request|messages?) (?:is |are )?too (?:long|large)|too many (?:input )?tokens|reduce the length|exceeds[^.]{0,60}tokens/iu;

/** Characters of the endpoint's own words that are shown. */
const MAX_EXCERPT_CHARS = 200;

/** Characters of them that are searched for secrets before they are cut. */
const MAX_SCANNED_CHARS = 16_384;

/** No one took the request, or the connection broke; a request that ran into a time limit is not here. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "ETIMEDOUT",
]);

/** Words a failure of the endpoint and says whether the same request may be sent once more. */
export function describeModelFailure(error: unknown, model: ResolvedModel): ModelFailure {
  const status = causes(error).find((cause) => cause instanceof EndpointStatusError)?.status;
  const words = String(error).slice(0, MAX_SCANNED_CHARS);
  // A limit of tokens in a minute or a day passes, unless one request alone is over it.
  const isTooLong = (status === 429 ? TOO_LARGE : TOO_LONG).test(words);
  const isRefused = isTooLong || REFUSED.has(status);
  return { ...describe(error, model), ...(isTooLong && { isTooLong }), ...(isRefused && { isRefused }) };
}

const TOO_LARGE = /request too large/iu;
/** Statuses that speak of the content of a request. */
const REFUSED: ReadonlySet<number | undefined> = new Set([400, 413, 422]);

function describe(error: unknown, model: ResolvedModel): ModelFailure {
  const endpoint = `The model endpoint of the provider ${JSON.stringify(model.providerId)}`;
  const chain = causes(error);
  const tooLarge = chain.find((cause) => cause instanceof ResponseTooLargeError);
  if (tooLarge !== undefined) {
    return { message: `${endpoint} was cut off: ${tooLarge.message}.`, retryable: false };
  }
  const answered = chain.find((cause) => cause instanceof EndpointStatusError);
  if (answered !== undefined) {
    const { status, retryAfterMs } = answered;
    const described = describeStatus(endpoint, status, excerpt(answered.message, model));
    return { ...described, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  const code = chain.map(codeOf).find((value) => value !== undefined);
  if (code !== undefined) {
    const retryable = RETRYABLE_CODES.has(code);
    return { message: `${endpoint} could not be reached or broke the connection (${code}).`, retryable };
  }
  return {
    message: `${endpoint} failed: ${excerpt(error instanceof Error ? error.message : String(error), model)}.`,
    retryable: false,
  };
}

function describeStatus(endpoint: string, status: number, words: string): ModelFailure {
  const said = words === "" ? "" : `: ${words}`;
  const hint = status >= 300 && status < 400 ? " (redirects are not followed; correct baseUrl)" : "";
  const retryable = status === 408 || status === 429 || status >= 500;
  return { message: `${endpoint} answered ${status}${hint}${said}.`, retryable };
}

/** The error and what caused it; bounded, since causes can form a ring. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  let current = error;
  while (current instanceof Error && chain.length < 8) {
    chain.push(current);
    current = current.cause;
  }
  return chain;
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" && /^[A-Z][A-Z_]+$/.test(error.code)
    ? error.code
    : undefined;
}

/** Cuts the endpoint's words to one short line; a careless endpoint may echo what it was sent. */
function excerpt(text: string, model: ResolvedModel): string {
  const secrets = [model.provider.apiKey, ...Object.values(model.provider.headers)]
    .filter((secret) => secret !== undefined && secret.length > 3)
    .toSorted((a, b) => b!.length - a!.length);
  let clean = text.slice(0, MAX_SCANNED_CHARS);
  for (const secret of secrets) {
    clean = clean.replaceAll(secret!, "[redacted]");
  }
  clean = clean.replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  const cut = clean.length > MAX_EXCERPT_CHARS ? `${clean.slice(0, MAX_EXCERPT_CHARS)} ...` : clean;
  return cut.toWellFormed().replace(/\.$/, "");
}
