import { ERRORS } from "../core/errors.ts";
import type { ErrorCode, Refusal } from "../core/errors.ts";

/** An answer to a request, ready to be sent: nothing is computed from it any more. */
export interface Answer {
  readonly status: number;
  /** Lower-case names; with the length of the payload. */
  readonly headers: AnswerHeaders;
  /** Empty for an answer without content. */
  readonly payload: string;
}

export type AnswerHeaders = Readonly<Record<string, string | number>>;

/** An answer whose content is `body` as JSON. */
export function answerJson(status: number, body: object, headers?: AnswerHeaders): Answer {
  return contentAnswer(status, "application/json; charset=utf-8", JSON.stringify(body), headers);
}

/** An answer whose content is plain text, exactly as given. */
export function answerText(status: number, text: string, headers?: AnswerHeaders): Answer {
  return contentAnswer(status, "text/plain; charset=utf-8", text, headers);
}

/** An answer with a content of any type; without one it is empty, and its type is kept all the same. */
export function answerContent(wanted: { status: number; contentType?: string; body?: string }): Answer {
  const { status, contentType = "text/plain; charset=utf-8", body = "" } = wanted;
  if (body !== "") return contentAnswer(status, contentType, body);
  return answerEmpty(status, wanted.contentType === undefined ? undefined : { "content-type": contentType });
}

/**
 * An answer as a configuration wants it: `content` is plain text unless the headers say otherwise, or an
 * answer of which only the content and its type are kept. 204 and 205 have no content (RFC 9110, 15.3).
 */
export function answerConfigured(
  content: string | Answer,
  { status, headers }: { readonly status: number; readonly headers: AnswerHeaders },
): Answer {
  const { "content-type": type, ...others } = headers;
  const payload = typeof content === "string" ? content : content.payload;
  if (payload === "" || status === 204 || status === 205) return answerEmpty(status, others);
  const own = typeof content === "string" ? "text/plain; charset=utf-8" : content.headers["content-type"];
  return contentAnswer(status, String(type ?? own), payload, others);
}

/** An answer without content: 204 has neither a type nor a length (RFC 9110, 8.6), others have length 0. */
export function answerEmpty(status: number, headers?: AnswerHeaders): Answer {
  const length = status === 204 ? undefined : { "content-length": 0 };
  return { status, headers: { ...COMMON_HEADERS, ...length, ...headers }, payload: "" };
}

/**
 * The answer to a refusal: `{ "ok": false, "error": <sentence>, "code": <CODE> }` with the status of
 * the table in `errors.ts`. 401 carries `WWW-Authenticate`, 405 `Allow`, 429 and 503 `Retry-After`
 * in whole seconds, at least 1.
 */
export function answerRefusal(refusal: Refusal): Answer {
  const { refused: code, message, retryAfterSeconds, allow } = refusal;
  if (message !== undefined || retryAfterSeconds !== undefined || allow !== undefined) return makeRefusal(refusal);
  const prepared = PREPARED.get(code) ?? makeRefusal(refusal);
  PREPARED.set(code, prepared);
  return prepared;
}

const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function contentAnswer(status: number, type: string, payload: string, headers?: AnswerHeaders): Answer {
  const own = {
    "content-type": type,
    "content-length": Buffer.byteLength(payload),
    "cache-control": COMMON_HEADERS["cache-control"],
    "x-content-type-options": COMMON_HEADERS["x-content-type-options"],
  };
  return { status, headers: headers === undefined ? own : { ...own, ...headers }, payload };
}

/** One for each code of the table at most. */
const PREPARED = new Map<ErrorCode, Answer>();

function makeRefusal(refusal: Refusal): Answer {
  const { status, message } = ERRORS[refusal.refused];
  const body = { ok: false, error: refusal.message ?? message, code: refusal.refused };
  return answerJson(status, body, refusalHeaders(refusal, status));
}

/** The expected duration of the cause in seconds, unless the refusal names one. */
const DEFAULT_RETRY_SECONDS: Partial<Record<ErrorCode, number>> = { QUEUE_FULL: 5, STORE_UNAVAILABLE: 5 };

function refusalHeaders(refusal: Refusal, status: number): AnswerHeaders | undefined {
  if (status === 401) return { "www-authenticate": "Bearer" };
  if (status === 405) return { allow: refusal.allow ?? "POST" };
  if (status !== 429 && status !== 503) return undefined;
  const seconds = refusal.retryAfterSeconds ?? DEFAULT_RETRY_SECONDS[refusal.refused] ?? 1;
  const retry = { "retry-after": Math.max(1, Math.ceil(seconds)) };
  // Anyone who tries again shall find the process that comes after this one.
  return refusal.refused === "SHUTTING_DOWN" ? { ...retry, connection: "close" } : retry;
}
