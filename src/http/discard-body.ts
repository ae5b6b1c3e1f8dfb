import type { IncomingMessage } from "node:http";

export interface DiscardLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** How discarding ended: the body was complete, the connection is gone, or a limit was reached. */
export type DiscardOutcome = "complete" | "gone" | "limit";

/**
 * True while bytes of the request's body may still be on their way. Before its body has arrived
 * `req.complete` is false for a request that has none, too.
 */
export function hasUnreadBody(req: IncomingMessage): boolean {
  if (req.complete) return false;
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
