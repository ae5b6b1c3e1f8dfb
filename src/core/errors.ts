/**
 * Every answer besides success: code -> status, retryable, message, audience.
 *
 * A test compares `docs/operate/errors.md` and the exported type with this table. A message says what
 * went wrong and what to do; details that were written for the caller may replace it, nothing else.
 */

/** The reader of an error: a sender that calls a hook, or an operator who calls the gateway itself. */
export type ErrorAudience = "sender" | "operator";

/** The errors that hooks answer. */
export const ERRORS = Object.freeze({
  TOKEN_IN_QUERY: entry(
    "sender",
    400,
    false,
    "The hook token must be sent in the Authorization header (Bearer <token>), never in the query string.",
  ),
  METHOD_NOT_ALLOWED: entry("sender", 405, false, "Hooks are called with POST."),
  BUSY: entry("sender", 503, true, "Too many requests are in progress; try again shortly."),
  UNAUTHORIZED: entry(
    "sender",
    401,
    false,
    "The request carries no valid credential; send Authorization: Bearer <hook token>, or sign it as this hook's sender does.",
  ),
  TOO_MANY_FAILURES: entry(
    "sender",
    429,
    true,
    "Too many failed attempts from this address; wait and send a valid credential.",
  ),
  KEYS_UNAVAILABLE: entry(
    "sender",
    503,
    true,
    "The keys to verify this sender with could not be fetched yet; try again shortly.",
  ),
  BODY_TIMEOUT: entry("sender", 408, true, "The request body did not arrive in time."),
  BODY_TOO_LARGE: entry("sender", 413, false, "The request body is larger than this hook accepts."),
  BODY_ABORTED: entry("sender", 400, true, "The connection closed before the request body was complete."),
  UNSUPPORTED_ENCODING: entry("sender", 415, false, "The Content-Encoding is not supported; send the body unencoded."),
  UNSUPPORTED_MEDIA_TYPE: entry(
    "sender",
    415,
    false,
    "The body is not JSON and this hook does not take its Content-Type; send application/json.",
  ),
  INVALID_JSON: entry("sender", 400, false, "The body is not valid JSON."),
  INVALID_UTF8: entry("sender", 400, false, "The body is not valid UTF-8."),
  TOO_DEEP: entry("sender", 400, false, "The JSON body is nested too deeply."),
  INVALID_PAYLOAD: entry("sender", 400, false, "The payload is not valid for this hook."),
  INVALID_IDEMPOTENCY_KEY: entry(
    "sender",
    400,
    false,
    "The idempotency key must be a string of 1 to 256 visible characters.",
  ),
  NOT_FOUND: entry("sender", 404, false, "No hook is configured under this path."),
  TRANSFORM_FAILED: entry("sender", 500, false, "The transform of this hook failed; the gateway's log says why."),
  INVALID_ACTION: entry("sender", 400, false, "The mapping of this hook made no usable action from the payload."),
  SESSION_KEY_DISABLED: entry(
    "sender",
    400,
    false,
    "sessionKey is not accepted from callers; set hooks.allowRequestSessionKey to true to allow it.",
  ),
  SESSION_KEY_PREFIX: entry("sender", 400, false, "sessionKey has none of the allowed prefixes."),
  AGENT_NOT_ALLOWED: entry("sender", 400, false, "agentId is not allowed by hooks.allowedAgentIds."),
  MODEL_NOT_ALLOWED: entry("sender", 400, false, "model is not in the gateway's list of allowed models."),
  UNKNOWN_CHANNEL: entry("sender", 400, false, "channel is not one of the gateway's channels."),
  CALLBACK_NOT_ALLOWED: entry(
    "sender",
    400,
    false,
    "callbackUrl is not allowed: it must begin with https:// and its host must be one of hooks.callbacks.hosts.",
  ),
  DENIED: entry("sender", 403, false, "A policy of this gateway refuses the request."),
  IDEMPOTENCY_CONFLICT: entry(
    "sender",
    422,
    false,
    "This idempotency key was used before with a different request; use a new key.",
  ),
  DELIVERY_NOT_FOUND: entry("sender", 404, false, "There is no such delivery, or it came with another credential."),
  PAYLOAD_GONE: entry("sender", 409, false, "The request of this delivery is not kept any more."),
  QUEUE_FULL: entry("sender", 503, true, "The queue of this gateway is full; try again later."),
  STORE_UNAVAILABLE: entry("sender", 503, true, "The request could not be stored; try again later."),
  SHUTTING_DOWN: entry("sender", 503, true, "The gateway is shutting down; try again shortly."),
  NOT_READY: entry("sender", 503, true, "The hooks of this gateway are not ready to take calls; try again shortly."),
  INTERNAL: entry("sender", 500, true, "The gateway failed on this request; its log says why."),
});

/** The errors that the operator API and the server of the embedded gateway answer. */
export const OPERATOR_ERRORS = Object.freeze({
  BAD_REQUEST: entry("operator", 400, false, "The request is not well-formed HTTP."),
  INVALID_QUERY: entry("operator", 400, false, "The query of the request is not valid."),
  UNAUTHORIZED: entry(
    "operator",
    401,
    false,
    "The request carries no valid gateway token; send Authorization: Bearer <gateway token>.",
  ),
  CROSS_SITE: entry("operator", 403, false, "Pages of other sites may not use this API."),
  NOT_FOUND: entry("operator", 404, false, "There is nothing under this path."),
  METHOD_NOT_ALLOWED: entry("operator", 405, false, "This path does not take the method."),
  REQUEST_TIMEOUT: entry("operator", 408, true, "The request did not arrive in time."),
  WRONG_STATE: entry("operator", 409, false, "The state of the delivery does not allow this."),
  EXPECTATION_FAILED: entry("operator", 417, false, "The only expectation that is met is 100-continue."),
  TOO_MANY_FAILURES: entry(
    "operator",
    429,
    true,
    "Too many failed attempts from this address; wait and send a valid token.",
  ),
  HEADERS_TOO_LARGE: entry("operator", 431, false, "The headers of the request are larger than 16 KiB."),
  INTERNAL: entry("operator", 500, true, "The gateway failed on this request; its log says why."),
  STORE_UNAVAILABLE: entry("operator", 503, true, "The gateway's database cannot be read; try again later."),
  SHUTTING_DOWN: entry("operator", 503, true, "The gateway is shutting down; try again shortly."),
});

export type ErrorCode = keyof typeof ERRORS;

export type OperatorErrorCode = keyof typeof OPERATOR_ERRORS;

export interface ErrorEntry {
  readonly status: number;
  /** True when the same request may succeed later. */
  readonly retryable: boolean;
  readonly message: string;
  readonly audience: ErrorAudience;
}

function entry(audience: ErrorAudience, status: number, retryable: boolean, message: string): ErrorEntry {
  return Object.freeze({ status, retryable, message, audience });
}

/** A refusal travels through the pipeline as a value; only `http/respond` turns it into a status. */
export interface Refusal {
  readonly refused: ErrorCode;
  /** Written for the caller; the table's message when absent. */
  readonly message?: string;
  /** Whole seconds, for 429 and 503. */
  readonly retryAfterSeconds?: number;
  /** For 405: the methods that are taken; `POST` when absent. */
  readonly allow?: string;
}

/** Makes a refusal; `message` must have been written for the caller. */
export function refuse(code: ErrorCode, message?: string, options: { retryAfterSeconds?: number } = {}): Refusal {
  return { refused: code, message, retryAfterSeconds: options.retryAfterSeconds };
}

/** True for the refusal member of a stage's result. */
export function isRefusal(value: unknown): value is Refusal {
  return typeof value === "object" && value !== null && "refused" in value;
}

const brand = Symbol.for("reveille.IngressError");

/** An error with a code of the table; recognized by {@link isIngressError}, never by `instanceof`. */
export class IngressError extends Error {
  override readonly name = "IngressError";
  readonly code: ErrorCode;
  readonly [brand] = true;

  constructor(code: ErrorCode, message: string = ERRORS[code].message, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** True for an {@link IngressError} of any copy of this package in the process. */
export function isIngressError(value: unknown): value is IngressError {
  return typeof value === "object" && value !== null && brand in value;
}
