import type { IncomingMessage } from "node:http";
import { type Refusal, refuse } from "../core/errors.ts";

export interface BodyLimits {
  /** A body of exactly this size is accepted. */
  readonly maxBytes: number;
  /** For the whole body, from the call on. */
  readonly timeoutMs: number;
  /** Called before the first byte is kept; a refusal ends the reading. */
  readonly onFirstByte?: () => Refusal | undefined;
}

/**
 * Reads the whole body of a request that no one has read from: its exact bytes in memory of their
 * own, or why not. A declared length over the limit is refused before any byte is read
 * (BODY_TOO_LARGE), otherwise the bytes are counted; a body that is not complete in time is refused
 * (BODY_TIMEOUT), as is one whose connection went away (BODY_ABORTED) and one with a
 * Content-Encoding (UNSUPPORTED_ENCODING; identity is none). After a refusal the request is paused
 * with the rest of its body unread. Rejects when the body was read before.
 *
 * Written here because raw-body keeps every chunk until the end: a chunked body of 256 KiB sent a
 * byte at a time then holds over 24 MB (`docs/decisions/0002-body-reader.md`).
 */
export function readBody(req: IncomingMessage, limits: BodyLimits): Promise<Uint8Array | Refusal> {
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && !isIdentity(encoding)) return Promise.resolve(refuse("UNSUPPORTED_ENCODING"));
  const declared = req.headers["content-length"];
  const length = declared === undefined ? undefined : Number(declared);
  if (length !== undefined && length > limits.maxBytes) return Promise.resolve(refuse("BODY_TOO_LARGE"));
  if (req.readableDidRead || req.readableEnded) return Promise.reject(new Error("The request's body was read before."));
  if (req.destroyed) return Promise.resolve(refuse("BODY_ABORTED"));
  return new Promise((resolve) => {
    // Then Node has handed over the bytes that came in one packet with the head.
    process.nextTick(() => {
      if (req.destroyed) resolve(refuse("BODY_ABORTED"));
      else if (req.readableLength === length) resolve(takeWhole(req, length, limits));
      else collect(req, limits, length ?? limits.maxBytes, resolve);
    });
  });
}

/** Requests of which the whole body is read, although Node has not seen their end yet. */
const whole = new WeakSet<IncomingMessage>();

/** Most bodies arrive with their head: without a timer, and events of a stream, a call costs 4 of 58 us less. */
function takeWhole(req: IncomingMessage, length: number, { onFirstByte }: BodyLimits): Uint8Array | Refusal {
  const refusal = length === 0 ? undefined : onFirstByte?.();
  if (refusal) return refusal;
  const bytes = (req.read() as Buffer | null) ?? undefined;
  whole.add(req);
  // Then the request ends as any other, when Node has seen its end.
  req.resume();
  return exactly(bytes, length);
}

function isIdentity(encoding: string): boolean {
  const name = encoding.trim().toLowerCase();
  return name === "" || name === "identity";
}

function collect(
  req: IncomingMessage,
  limits: BodyLimits,
  expectedBytes: number,
  resolve: (result: Uint8Array | Refusal) => void,
): void {
  let bytes: Uint8Array | undefined;
  let length = 0;

  function onData(chunk: Buffer): void {
    const end = length + chunk.length;
    if (end > limits.maxBytes) return stop(refuse("BODY_TOO_LARGE"));
    if (bytes === undefined) {
      const refusal = limits.onFirstByte?.();
      if (refusal) return stop(refusal);
      bytes = chunk;
    } else {
      if (bytes.length < end) bytes = grow(bytes.subarray(0, length), end, expectedBytes);
      bytes.set(chunk, length);
    }
    length = end;
  }
  function onEnd(): void {
    settle(exactly(bytes, length));
  }
  function onGone(): void {
    stop(refuse("BODY_ABORTED"));
  }
  function onTimeout(): void {
    stop(refuse("BODY_TIMEOUT"));
  }
  function stop(refusal: Refusal): void {
    req.pause();
    settle(refusal);
  }
  function settle(result: Uint8Array | Refusal): void {
    clearTimeout(timer);
    req.off("data", onData);
    req.off("end", onEnd);
    req.off("close", onGone);
    resolve(result);
  }

  const timer = setTimeout(onTimeout, limits.timeoutMs);
  req.on("data", onData);
  req.on("end", onEnd);
  req.on("close", onGone);
}

/** Room for at least `end` bytes: twice that, but no more than are expected in all. */
function grow(bytes: Uint8Array, end: number, expectedBytes: number): Uint8Array {
  const grown = Buffer.allocUnsafeSlow(Math.max(end, Math.min(2 * end, expectedBytes)));
  grown.set(bytes);
  return grown;
}

/** Node hands over each chunk in memory of its own, so that a body of one chunk is not copied. */
function exactly(bytes: Uint8Array | undefined, length: number): Uint8Array {
  if (bytes === undefined) return new Uint8Array(0);
  if (bytes.length === length && bytes.buffer.byteLength === length) return bytes;
  return new Uint8Array(bytes.subarray(0, length));
}

export interface DiscardLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** The end of discarding: the body was complete, the connection is gone, or a limit was reached. */
export type DiscardOutcome = "complete" | "gone" | "limit";

/**
 * True while bytes of the request's body may still be on their way. Before its body has arrived
 * `req.complete` is false for a request that has none, too.
 */
export function hasUnreadBody(req: IncomingMessage): boolean {
  if (req.complete || whole.has(req)) return false;
  return req.headers["transfer-encoding"] !== undefined || declaredLength(req) > 0;
}

/** The declared length of the body in bytes; 0 when there is none, infinite when it is chunked. */
export function declaredLength(req: IncomingMessage): number {
  if (req.headers["transfer-encoding"] !== undefined) return Infinity;
  const length = req.headers["content-length"];
  return length === undefined ? 0 : Number(length);
}

/** Reads the rest of a request's body and throws it away; `done` is called exactly once. */
export function discardBody(
  req: IncomingMessage,
  limits: DiscardLimits,
  done: (outcome: DiscardOutcome) => void,
): void {
  let bytes = 0;

  function onData(chunk: Buffer): void {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) finish("limit");
  }
  function onEnd(): void {
    finish("complete");
  }
  function onGone(): void {
    finish("gone");
  }
  function onTimeout(): void {
    finish("limit");
  }
  function finish(outcome: DiscardOutcome): void {
    clearTimeout(timer);
    req.off("data", onData);
    req.off("end", onEnd);
    req.off("close", onGone);
    done(outcome);
  }

  const timer = setTimeout(onTimeout, limits.timeoutMs);
  req.on("data", onData);
  req.on("end", onEnd);
  req.on("close", onGone);
  req.resume();
}
