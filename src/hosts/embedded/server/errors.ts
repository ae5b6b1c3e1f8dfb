/** The answers of the gateway's own surfaces besides success. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { answerEntry, API_ERRORS, type ErrorAnswerOptions, errorBody, errorEntry } from "../../../api/errors.ts";
import { answerJson } from "../../../http/answer.ts";
import { sendAnswer } from "../../../http/send-answer.ts";
import { responseOn } from "./response.ts";

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
function rawError(code: GatewayErrorCode): string {
  const { status, message } = GATEWAY_ERRORS[code];
  const { headers, payload } = answerJson(status, errorBody(code, message), {
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", payload].join("\r\n");
}

/** Answers on connections whose next request cannot be handled, without cutting off earlier ones. */

/** Time that a refused client may continue sending before it is cut off, so that it can read the answer. */
const lingerMs = 1_000;

const refusedSockets = new WeakSet<Duplex>();

/** Handles the server's `clientError`: answers 400, 408 or 431 where that is still possible. */
export function refuseBrokenRequest(error: Error, socket: Duplex): void {
  const code = "code" in error ? error.code : undefined;
  if (code === "ECONNRESET") socket.destroy();
  else refuseConnection(socket, errorCodeOf(code));
}

/**
 * Writes one last answer on a connection and closes it. Answers to earlier requests of the same
 * connection are awaited, so that none of them is taken for another's.
 */
export function refuseConnection(socket: Duplex, code: GatewayErrorCode): void {
  // Every further chunk of a connection whose parser has failed is reported again.
  if (refusedSockets.has(socket)) return;
  refusedSockets.add(socket);
  answerLast(socket, code);
}

function answerLast(socket: Duplex, code: GatewayErrorCode): void {
  const response = responseOn(socket);
  if (!socket.writable) {
    socket.destroy();
  } else if (response === undefined) {
    endWith(socket, code);
  } else if (response.req.complete) {
    response.once("close", () => {
      answerLast(socket, code);
    });
  } else if (response.headersSent) {
    // The broken request itself was being answered already.
    socket.destroy();
  } else {
    endWith(socket, code);
  }
}

function endWith(socket: Duplex, code: GatewayErrorCode): void {
  socket.on("error", () => socket.destroy());
  socket.end(rawError(code));
  const linger = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => {
    clearTimeout(linger);
  });
}

function errorCodeOf(code: unknown): GatewayErrorCode {
  if (code === "HPE_HEADER_OVERFLOW") return "HEADERS_TOO_LARGE";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "REQUEST_TIMEOUT";
  return "BAD_REQUEST";
}
