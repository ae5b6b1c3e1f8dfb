/** What the gateway's own surfaces answer besides success. */
import { STATUS_CODES } from "node:http";
import type { ServerResponse } from "node:http";
import { answerEntry, API_ERRORS, errorBody, errorEntry } from "../../../api/errors.ts";
import type { ErrorAnswerOptions } from "../../../api/errors.ts";
import { answerJson } from "../../../http/answer.ts";
import { sendAnswer } from "../../../http/send-answer.ts";

/** Code -> status and sentence, with those of the API. What hooks answer is in the table of `errors.ts`. */
export const GATEWAY_ERRORS = Object.freeze({
  BAD_REQUEST: errorEntry(400, "The request is not well-formed HTTP."),
  UNAUTHORIZED: errorEntry(
    401,
    "The request carries no valid gateway token; send Authorization: Bearer <gateway token>.",
  ),
  REQUEST_TIMEOUT: errorEntry(408, "The request did not arrive in time."),
  EXPECTATION_FAILED: errorEntry(417, "The only expectation that is met is 100-continue."),
  TOO_MANY_FAILURES: errorEntry(429, "Too many failed attempts from this address; wait and send a valid token."),
  HEADERS_TOO_LARGE: errorEntry(431, "The headers of the request are larger than 16 KiB."),
  INTERNAL: errorEntry(500, "The gateway failed on this request; its log says why."),
  SHUTTING_DOWN: errorEntry(503, "The gateway is shutting down; try again shortly."),
  ...API_ERRORS,
});

export type GatewayErrorCode = keyof typeof GATEWAY_ERRORS;

/** Answers with an error of the table. */
export function sendError(res: ServerResponse, code: GatewayErrorCode, options?: ErrorAnswerOptions): void {
  sendAnswer(res.req, res, answerEntry(code, GATEWAY_ERRORS[code], options));
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
