import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { declaredLength, discardBody, hasUnreadBody } from "../../../src/http/read-body.ts";
import type { DiscardLimits, DiscardOutcome } from "../../../src/http/read-body.ts";
import { withRequest } from "./wire.ts";

const LIMITS: DiscardLimits = { maxBytes: 1000, timeoutMs: 60_000 };

function head(...lines: string[]): string {
  return ["POST / HTTP/1.1", "Host: x", ...lines, "", ""].join("\r\n");
}

function discard(
  send: (socket: Socket) => void,
  limits = LIMITS,
  prepare?: (req: IncomingMessage, client: Socket) => void,
) {
  return withRequest((req, client) => {
    prepare?.(req, client);
    return new Promise<{ outcome: DiscardOutcome; listeners: number }>((resolve) => {
      discardBody(req, limits, (outcome) => {
        const names = ["data", "end", "close"];
        resolve({ outcome, listeners: names.reduce((count, name) => count + req.listenerCount(name), 0) });
      });
    });
  }, send);
}

describe("discarding the rest of a body", () => {
  test("ends when the body is complete", async () => {
    const result = await discard((socket) => socket.write(head("Content-Length: 1000") + "x".repeat(1000)));
    expect(result).toEqual({ outcome: "complete", listeners: 0 });
  });

  test("continues with a request that was paused", async () => {
    const result = await discard(
      (socket) => socket.write(`${head("Content-Length: 5")}hello`),
      LIMITS,
      (req) => req.pause(),
    );
    expect(result.outcome).toBe("complete");
  });

  test("ends when the client has gone", async () => {
    const result = await discard(
      (socket) => socket.write(`${head("Content-Length: 10")}hello`),
      LIMITS,
      (_req, client) => void setImmediate(() => client.destroy()),
    );
    expect(result).toEqual({ outcome: "gone", listeners: 0 });
  });

  test("ends with the first byte over the limit", async () => {
    const result = await discard((socket) => {
      socket.write(head("Transfer-Encoding: chunked"));
      socket.write(`3e9\r\n${"x".repeat(1001)}\r\n`);
    });
    expect(result).toEqual({ outcome: "limit", listeners: 0 });
  });

  test("ends when the time is up", async () => {
    const limits = { maxBytes: 1000, timeoutMs: 30 };
    const result = await discard((socket) => socket.write(`${head("Content-Length: 10")}hello`), limits);
    expect(result).toEqual({ outcome: "limit", listeners: 0 });
  });
});

describe("whether bytes of a body may still come", () => {
  test.each([
    ["none declared", head(), false, 0],
    ["declared empty", head("Content-Length: 0"), false, 0],
    ["declared", `${head("Content-Length: 5")}hel`, true, 5],
    ["chunked", head("Transfer-Encoding: chunked"), true, Infinity],
  ])("is known as soon as the request begins: %s", async (_what, bytes, unread, length) => {
    const seen = await withRequest(
      (req) => [hasUnreadBody(req), declaredLength(req)],
      (socket) => socket.write(bytes),
    );
    expect(seen).toEqual([unread, length]);
  });

  test("none is once the body was read", async () => {
    const seen = await withRequest(
      async (req) => {
        req.resume();
        await once(req, "end");
        return hasUnreadBody(req);
      },
      (socket) => socket.write(`${head("Content-Length: 5")}hello`),
    );
    expect(seen).toBe(false);
  });
});
