import { createHash, randomBytes } from "node:crypto";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { isRefusal, refuse } from "../../../src/core/errors.ts";
import { readBody } from "../../../src/http/read-body.ts";
import { withRequest } from "./wire.ts";

const LIMITS = { maxBytes: 1000, timeoutMs: 10_000 };

/** What reading the body of a request of these header lines and body bytes gives. */
function read(headerLines: string[], body: string | Buffer, limits = LIMITS) {
  return withRequest(
    (req) => readBody(req, limits),
    (socket) => {
      socket.write(head(...headerLines));
      socket.write(body);
    },
  );
}

function head(...lines: string[]): string {
  return ["POST / HTTP/1.1", "Host: x", ...lines, "", ""].join("\r\n");
}

function text(result: Awaited<ReturnType<typeof readBody>>): string {
  return isRefusal(result) ? result.refused : Buffer.from(result).toString("latin1");
}

describe("the bytes of a body", () => {
  test("are those that were sent, of any value", async () => {
    const bytes = randomBytes(1000);
    const result = await read(["Content-Length: 1000"], bytes);
    expect(Buffer.compare(result as Uint8Array, bytes)).toBe(0);
  });

  test("are none for an empty body and for none", async () => {
    expect(await read(["Content-Length: 0"], "")).toEqual(new Uint8Array(0));
    expect(await read([], "")).toEqual(new Uint8Array(0));
    expect(await read(["Transfer-Encoding: chunked"], "0\r\n\r\n")).toEqual(new Uint8Array(0));
  });

  test("lie in memory of their own, also when they came in several pieces", async () => {
    const bodies = await Promise.all([
      read(["Content-Length: 5"], "hello"),
      read(["Transfer-Encoding: chunked"], "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
      read(["Transfer-Encoding: chunked"], "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"),
    ]);
    for (const body of bodies as Uint8Array[]) {
      expect(text(body)).toBe("hello");
      expect(body.buffer.byteLength).toBe(5);
    }
  });

  test("that a host hands over as a part of a larger memory are copied out of it", async () => {
    const req = new IncomingMessage(new Socket());
    req.push(Buffer.from("before hello after").subarray(7, 12));
    req.push(null);
    const body = (await readBody(req, LIMITS)) as Uint8Array;
    expect(text(body)).toBe("hello");
    expect(body.buffer.byteLength).toBe(5);
  });

  test("of a chunked body come without chunk extensions and trailers", async () => {
    const body = "5;name=value\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: late\r\nAuthorization: Bearer late\r\n\r\n";
    expect(text(await read(["Transfer-Encoding: chunked", "Trailer: X-Trailer"], body))).toBe("hello world");
  });

  test("are whole when they arrive slowly, in any pieces", async () => {
    const bytes = randomBytes(300_000);
    const result = await withRequest(
      (req) => readBody(req, { maxBytes: 300_000, timeoutMs: 10_000 }),
      (socket) => void sendInPieces(socket, bytes, 7919),
    );
    expect(sha256(result as Uint8Array)).toBe(sha256(bytes));
    expect((result as Uint8Array).buffer.byteLength).toBe(300_000);
  });

  test("are whole when 200,000 come one by one", async () => {
    const result = await read(["Transfer-Encoding: chunked"], `${"1\r\na\r\n".repeat(200_000)}0\r\n\r\n`, {
      maxBytes: 262_144,
      timeoutMs: 10_000,
    });
    expect(text(result)).toBe("a".repeat(200_000));
    expect((result as Uint8Array).buffer.byteLength).toBe(200_000);
  });

  test("that arrive with their head lie in memory of their own, and leave neither a listener nor bytes to read", async () => {
    const { bytes, left } = await withRequest(
      async (req) => {
        const result = (await readBody(req, LIMITS)) as Uint8Array;
        const left = [req.listenerCount("data"), req.listenerCount("close"), req.readableLength];
        return { bytes: result, left };
      },
      (socket) => socket.write(`${head("Content-Length: 5")}hello`),
    );
    expect(text(bytes)).toBe("hello");
    expect(bytes.buffer.byteLength).toBe(5);
    expect(left).toEqual([0, 0, 0]);
  });

  test("are not read where the first of them is refused, and an empty body has none", async () => {
    const limits = { ...LIMITS, onFirstByte: () => refuse("BUSY") };
    const answers = await Promise.all([
      read(["Content-Length: 5"], "hello", limits),
      withRequest(
        (req) => readBody(req, limits),
        (socket) => socket.write(`${head("Content-Length: 5")}hello`),
      ),
      withRequest(
        (req) => readBody(req, limits),
        (socket) => socket.write(head("Content-Length: 0")),
      ),
    ]);
    expect(answers.map((answer) => text(answer))).toEqual(["BUSY", "BUSY", ""]);
  });

  test("are aborted when the connection is gone before they are looked at", async () => {
    const result = withRequest(
      (req) => {
        const reading = readBody(req, LIMITS);
        req.destroy();
        return reading;
      },
      (socket) => socket.write(`${head("Content-Length: 5")}hello`),
    );
    expect(text(await result)).toBe("BODY_ABORTED");
  });

  test("can be read although the request has waited", async () => {
    const result = await withRequest(
      async (req) => {
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
        return readBody(req, LIMITS);
      },
      (socket) => socket.write(`${head("Content-Length: 5")}hello`),
    );
    expect(text(result)).toBe("hello");
  });
});

describe("spec 8: oversized payloads", () => {
  test("spec 8: a body of exactly the limit is accepted, declared and chunked", async () => {
    const body = "x".repeat(1000);
    expect(text(await read(["Content-Length: 1000"], body))).toBe(body);
    expect(text(await read(["Transfer-Encoding: chunked"], `3e8\r\n${body}\r\n0\r\n\r\n`))).toBe(body);
  });

  test("spec 8: a declared length over the limit is refused before a byte of it arrives", async () => {
    expect(text(await read(["Content-Length: 1001"], ""))).toBe("BODY_TOO_LARGE");
    expect(text(await read(["Content-Length: 9007199254740993"], ""))).toBe("BODY_TOO_LARGE");
  });

  test("spec 8: a chunked body is refused with the first byte over the limit, while it is still sent", async () => {
    const first = `3e8\r\n${"x".repeat(1000)}\r\n`;
    expect(text(await read(["Transfer-Encoding: chunked"], `${first}1\r\nx\r\n`))).toBe("BODY_TOO_LARGE");
    expect(text(await read(["Transfer-Encoding: chunked"], `3e9\r\n${"x".repeat(1001)}\r\n`))).toBe("BODY_TOO_LARGE");
  });

  test("after a refusal the request is paused, with no listener left and the rest unread", async () => {
    const state = await withRequest(
      async (req) => {
        const result = await readBody(req, LIMITS);
        return { result: text(result), paused: req.isPaused(), ended: req.readableEnded, listeners: listeners(req) };
      },
      (socket) => {
        socket.write(head("Transfer-Encoding: chunked"));
        socket.write(`7d0\r\n${"x".repeat(2000)}\r\n`);
      },
    );
    expect(state).toEqual({ result: "BODY_TOO_LARGE", paused: true, ended: false, listeners: 0 });
  });
});

describe("a body that does not arrive", () => {
  test("in time is refused, however steadily it trickles", async () => {
    const result = await withRequest(
      (req) => readBody(req, { maxBytes: 1000, timeoutMs: 60 }),
      (socket) => {
        socket.write(head("Content-Length: 1000"));
        const trickle = setInterval(() => socket.write("x"), 10);
        socket.on("close", () => clearInterval(trickle));
      },
    );
    expect(text(result)).toBe("BODY_TIMEOUT");
  });

  test("because the connection is reset is aborted", async () => {
    const result = await withRequest(
      (req, client) => {
        setImmediate(() => client.resetAndDestroy());
        return readBody(req, LIMITS);
      },
      (socket) => socket.write(`${head("Content-Length: 10")}hello`),
    );
    expect(text(result)).toBe("BODY_ABORTED");
  });

  test("because the connection is closed is aborted", async () => {
    const result = await withRequest(
      (req, client) => {
        setImmediate(() => client.destroy());
        return readBody(req, LIMITS);
      },
      (socket) => socket.write(`${head("Transfer-Encoding: chunked")}5\r\nhello\r\n`),
    );
    expect(text(result)).toBe("BODY_ABORTED");
  });

  test("because the connection was gone before is aborted", async () => {
    const result = await withRequest(
      async (req, client) => {
        setImmediate(() => client.destroy());
        await new Promise((resolve) => {
          req.on("close", resolve);
        });
        return readBody(req, LIMITS);
      },
      (socket) => socket.write(`${head("Content-Length: 10")}hello`),
    );
    expect(text(result)).toBe("BODY_ABORTED");
  });

  test("because it was read before rejects: the caller is at fault", async () => {
    const failure = await withRequest(
      async (req) => {
        await readBody(req, LIMITS);
        return readBody(req, LIMITS).catch(String);
      },
      (socket) => socket.write(`${head("Content-Length: 5")}hello`),
    );
    expect(failure).toContain("read before");
  });
});

describe("Content-Encoding", () => {
  test.each(["gzip", "deflate", "br", "zstd", "x-gzip", "identity, gzip", "GZIP"])(
    "%s is refused",
    async (encoding) => {
      expect(text(await read([`Content-Encoding: ${encoding}`, "Content-Length: 2"], "{}"))).toBe(
        "UNSUPPORTED_ENCODING",
      );
    },
  );

  test.each(["identity", "Identity", ""])("%j is none", async (encoding) => {
    expect(text(await read([`Content-Encoding: ${encoding}`, "Content-Length: 2"], "{}"))).toBe("{}");
  });
});

function listeners(req: IncomingMessage): number {
  return ["data", "end", "close"].reduce((count, name) => count + req.listenerCount(name), 0);
}

async function sendInPieces(socket: Socket, bytes: Buffer, size: number): Promise<void> {
  socket.setNoDelay(true);
  socket.write(head(`Content-Length: ${bytes.length}`));
  for (let start = 0; start < bytes.length; start += size) {
    socket.write(bytes.subarray(start, start + size));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
