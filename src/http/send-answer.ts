import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "./answer.ts";
import { declaredLength, discardBody, hasUnreadBody } from "./read-body.ts";
import type { DiscardLimits } from "./read-body.ts";

/** The part of an unwanted body that is read so that its sender sees the answer. */
const DISCARD_LIMITS: DiscardLimits = { maxBytes: 32 * 1024 * 1024, timeoutMs: 5000 };

/** A declared body up to this size is read to its end, and the connection stays. */
const KEEP_ALIVE_MAX_BYTES = 64 * 1024;

/** With these the connection closes while the body is not complete: it came too slowly, or was too much. */
const CLOSING_STATUSES: ReadonlySet<number> = new Set([408, 413]);

/**
 * Sends an answer; does nothing when one was sent before.
 *
 * An answer may come before the body was read. Closing the connection then makes the sender's
 * system throw away what it has not yet read, the answer included; so the rest of the body is taken
 * in first: of a small declared one all, after which the connection continues with the next request;
 * of any other at most 32 MiB for at most 5 seconds (`limits`), and the connection closes
 * (RFC 9112, 9.6).
 */
export function sendAnswer(
  req: IncomingMessage,
  res: ServerResponse,
  answer: Answer,
  limits: DiscardLimits = DISCARD_LIMITS,
): void {
  if (res.headersSent) return;
  if (!hasUnreadBody(req)) {
    // A body that is complete may still be held back unread; the next request waits behind it.
    if (!req.readableEnded) req.resume();
    res.writeHead(answer.status, answer.headers);
    res.end(answer.payload);
    return;
  }
  if (goesOn(req, res, answer)) answerAndGoOn(req, res, answer, limits);
  else answerAndClose(req, res, answer, limits);
}

function goesOn(req: IncomingMessage, res: ServerResponse, answer: Answer): boolean {
  if (!res.shouldKeepAlive || answer.headers["connection"] === "close") return false;
  return declaredLength(req) <= KEEP_ALIVE_MAX_BYTES && !CLOSING_STATUSES.has(answer.status);
}

function answerAndGoOn(req: IncomingMessage, res: ServerResponse, answer: Answer, limits: DiscardLimits): void {
  res.writeHead(answer.status, answer.headers);
  res.end(answer.payload);
  discardBody(req, limits, (outcome) => {
    if (outcome === "limit") req.destroy();
  });
}

function answerAndClose(req: IncomingMessage, res: ServerResponse, answer: Answer, limits: DiscardLimits): void {
  res.writeHead(answer.status, { ...answer.headers, connection: "close" });
  // Its length is declared: the sender has all of the answer while the response is still open.
  if (req.method === "HEAD" || answer.payload === "") res.flushHeaders();
  else res.write(answer.payload);
  discardBody(req, limits, () => {
    res.end();
  });
}
