/** Answers on connections whose next request cannot be handled, without cutting off earlier ones. */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { answerError } from "../../../api/errors.ts";
import type { OperatorErrorCode } from "../../../core/errors.ts";
import { responseOn } from "./response.ts";

/** The whole answer as text, for a connection whose request could not be parsed; it closes the connection. */
function rawError(code: OperatorErrorCode): string {
  const { status, headers, payload } = answerError(code, {
    headers: { "referrer-policy": "no-referrer", connection: "close" },
  });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", payload].join("\r\n");
}

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
export function refuseConnection(socket: Duplex, code: OperatorErrorCode): void {
  // Every further chunk of a connection whose parser has failed is reported again.
  if (refusedSockets.has(socket)) return;
  refusedSockets.add(socket);
  answerLast(socket, code);
}

function answerLast(socket: Duplex, code: OperatorErrorCode): void {
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

function endWith(socket: Duplex, code: OperatorErrorCode): void {
  socket.on("error", () => socket.destroy());
  socket.end(rawError(code));
  const linger = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => {
    clearTimeout(linger);
  });
}

function errorCodeOf(code: unknown): OperatorErrorCode {
  if (code === "HPE_HEADER_OVERFLOW") return "HEADERS_TOO_LARGE";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "REQUEST_TIMEOUT";
  return "BAD_REQUEST";
}
