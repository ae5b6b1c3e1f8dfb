/** What the gateway's own surfaces answer besides success. */
import { STATUS_CODES } from "node:http";
import type { ServerResponse } from "node:http";
import { answerJson } from "../../http/respond.ts";
import type { Answer, AnswerHeaders } from "../../http/respond.ts";
import { sendAnswer } from "../../http/send-answer.ts";

/** Code -> status and sentence. What hooks answer is in the table of `errors.ts`. */
export const GATEWAY_ERRORS = Object.freeze({
  BAD_REQUEST: entry(400, "The request is not well-formed HTTP."),
  INVALID_QUERY: entry(400, "The query of the request is not valid."),
  UNAUTHORIZED: entry(401, "The request carries no valid gateway token; send Authorization: Bearer <gateway token>."),
  NOT_FOUND: entry(404, "There is nothing under this path."),
  METHOD_NOT_ALLOWED: entry(405, "This path does not take the method."),
  REQUEST_TIMEOUT: entry(408, "The request did not arrive in time."),
  WRONG_STATE: entry(409, "The state of the delivery does not allow this."),
  EXPECTATION_FAILED: entry(417, "The only expectation that is met is 100-continue."),
  TOO_MANY_FAILURES: entry(429, "Too many failed attempts from this address; wait and send a valid token."),
  HEADERS_TOO_LARGE: entry(431, "The headers of the request are larger than 16 KiB."),
  INTERNAL: entry(500, "The gateway failed on this request; its log says why."),
  STORE_UNAVAILABLE: entry(503, "The gateway's database cannot be read; try again later."),
  SHUTTING_DOWN: entry(503, "The gateway is shutting down; try again shortly."),
});

export type GatewayErrorCode = keyof typeof GATEWAY_ERRORS;

function entry(status: number, message: string): { readonly status: number; readonly message: string } {
  return Object.freeze({ status, message });
}

export interface ErrorAnswerOptions {
  /** Replaces the table's sentence; written for the caller. */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: AnswerHeaders;
}

/** The answer with an error of the table. */
export function answerError(code: GatewayErrorCode, options: ErrorAnswerOptions = {}): Answer {
  const { status, message } = GATEWAY_ERRORS[code];
  return answerJson(status, errorBody(code, options.message ?? message), options.headers);
}

/** Answers with an error of the table. */
export function sendError(res: ServerResponse, code: GatewayErrorCode, options: ErrorAnswerOptions = {}): void {
  sendAnswer(res.req, res, answerError(code, options));
}

/** The whole answer as text, for a connection whose request could not be parsed; it closes the connection. */
export function rawError(code: GatewayErrorCode): string {
  const { status, message } = GATEWAY_ERRORS[code];
  const { headers, payload } = answerJson(status, errorBody(code, message), {
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", payload].join("\r\n");
}

function errorBody(code: GatewayErrorCode, error: string): object {
  return { ok: false, error, code };
}
