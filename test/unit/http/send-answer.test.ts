import { once } from "node:events";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { isRefusal, refuse } from "../../../src/core/errors.ts";
import type { ErrorCode } from "../../../src/core/errors.ts";
import type { DiscardLimits } from "../../../src/http/read-body.ts";
import { readBody } from "../../../src/http/read-body.ts";
import { answerEmpty, answerJson, answerRefusal } from "../../../src/http/answer.ts";
import { sendAnswer } from "../../../src/http/send-answer.ts";
import { dial, exchange, listen, receiveAll, statuses } from "./wire.ts";
import type { Listening } from "./wire.ts";

const MIB = 1024 * 1024;
const SOON = { maxBytes: 32 * MIB, timeoutMs: 100 };
const PATIENT = { maxBytes: 32 * MIB, timeoutMs: 60_000 };

let server: Listening | undefined;
afterEach(() => server?.close());

async function serve(handler: RequestListener): Promise<number> {
  server = await listen(handler);
  return server.port;
}

/** A server that refuses every request without reading its body. */
function refusing(code: ErrorCode, limits?: DiscardLimits): RequestListener {
  return (req, res) => {
    sendAnswer(req, res, answerRefusal(refuse(code)), limits);
  };
}

/** A server that reads bodies of up to 1,000 bytes and answers their length. */
const reading: RequestListener = (req, res) => {
  void readBody(req, { maxBytes: 1000, timeoutMs: 100 }).then((body) => {
    sendAnswer(req, res, isRefusal(body) ? answerRefusal(body) : answerJson(200, { bytes: body.length }));
  });
};

function head(...lines: string[]): string {
  return ["POST / HTTP/1.1", "Host: x", ...lines, "", ""].join("\r\n");
}

describe("an answer after the body was read", () => {
  test("is sent with its headers and content, and the connection stays", async () => {
    const port = await serve(reading);
    const request = `${head("Content-Length: 5")}hello`;
    const raw = await exchange(port, request + request + `${head("Content-Length: 5", "Connection: close")}hello`);
    expect(statuses(raw)).toEqual([200, 200, 200]);
    expect(raw.match(/\{"bytes":5\}/g)).toHaveLength(3);
    expect(raw).toContain("content-type: application/json; charset=utf-8\r\n");
    expect(raw).toContain("x-content-type-options: nosniff\r\n");
    expect(raw).toContain("cache-control: no-store\r\n");
  });

  test("of 413 keeps the connection when the whole body came with its head", async () => {
    const port = await serve((req, res) => {
      void readBody(req, { maxBytes: 1000, timeoutMs: 100 }).then(() => {
        sendAnswer(req, res, answerRefusal(refuse("BODY_TOO_LARGE")));
      });
    });
    const request = (...lines: string[]): string => `${head("Content-Length: 5", ...lines)}hello`;
    const raw = await exchange(port, request() + request() + request("Connection: close"));
    expect(statuses(raw)).toEqual([413, 413, 413]);
  });

  test("without content is 204 with neither body nor length", async () => {
    const port = await serve((req, res) => sendAnswer(req, res, answerEmpty(204)));
    const raw = await exchange(port, head("Connection: close"));
    expect(statuses(raw)).toEqual([204]);
    expect(raw).not.toMatch(/content-length|transfer-encoding/i);
    expect(raw.endsWith("\r\n\r\n")).toBe(true);
  });

  test("is sent once: a second one is dropped", async () => {
    const port = await serve((req, res) => {
      sendAnswer(req, res, answerJson(200, { first: true }));
      sendAnswer(req, res, answerJson(500, { second: true }));
    });
    const raw = await exchange(port, head("Connection: close"));
    expect(statuses(raw)).toEqual([200]);
    expect(raw).not.toContain("second");
  });

  test("to a client that has gone does no harm", async () => {
    const gone = Promise.withResolvers<void>();
    let calls = 0;
    const port = await serve((req, res) => {
      calls++;
      if (calls === 2) return reading(req, res);
      res.on("close", () => {
        sendAnswer(req, res, answerJson(200, {}));
        gone.resolve();
      });
      setImmediate(() => socket.destroy());
    });
    const socket = dial(port);
    socket.write(head("Content-Length: 5"));
    await gone.promise;
    expect(statuses(await exchange(port, head("Connection: close")))).toEqual([200]);
  });
});

describe("HEAD", () => {
  test.each([
    ["without a body", ""],
    ["with a body of which the rest is read", "Content-Length: 70000\r\n"],
  ])("%s is answered with headers alone", async (_how, framing) => {
    const port = await serve(refusing("METHOD_NOT_ALLOWED"));
    const socket = dial(port);
    socket.write(`HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${framing}\r\n`);
    if (framing !== "") socket.write("x".repeat(70_000));
    const raw = await receiveAll(socket);
    expect(statuses(raw)).toEqual([405]);
    expect(raw).toMatch(/allow: POST\r\n/);
    expect(raw.endsWith("\r\n\r\n")).toBe(true);
  });
});

describe("an answer before the body was read", () => {
  test.each<[ErrorCode, number]>([
    ["UNAUTHORIZED", 401],
    ["METHOD_NOT_ALLOWED", 405],
    ["BODY_TOO_LARGE", 413],
    ["BUSY", 503],
  ])("%s reaches a client that sends 10 MB before it reads", async (code, status) => {
    const port = await serve(refusing(code, PATIENT));
    const socket = dial(port);
    socket.pause();
    socket.write(head(`Content-Length: ${10 * MIB}`));
    await sendMebibytes(socket, 10);
    const raw = await receiveAll(socket);
    expect(statuses(raw)).toEqual([status]);
    expect(raw).toContain(`"code":"${code}"`);
    expect(raw).toMatch(/^connection: close\r$/im);
  });

  test("reaches a client that sends a chunked body without end, and the connection closes", async () => {
    const port = await serve((req, res) => sendAnswer(req, res, answerRefusal(refuse("UNAUTHORIZED")), SOON));
    const socket = dial(port);
    socket.write(head("Transfer-Encoding: chunked"));
    const trickle = setInterval(() => socket.write("1\r\nx\r\n"), 5);
    const raw = await receiveAll(socket);
    clearInterval(trickle);
    expect(statuses(raw)).toEqual([401]);
    expect(raw).toMatch(/^connection: close\r$/im);
  });

  test("reaches a client that waits before it sends the body, at once", async () => {
    const port = await serve(refusing("UNAUTHORIZED"));
    const socket = dial(port);
    socket.write(head("Transfer-Encoding: chunked"));
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toContain('"code":"UNAUTHORIZED"');
    socket.write("0\r\n\r\n");
    await once(socket, "close");
  });

  test("takes in no more than its limit of bytes", async () => {
    const port = await serve((req, res) => {
      sendAnswer(req, res, answerRefusal(refuse("UNAUTHORIZED")), { maxBytes: MIB, timeoutMs: 60_000 });
    });
    const socket = dial(port);
    socket.write(head(`Content-Length: ${512 * MIB}`));
    socket.resume();
    expect(await sendMebibytes(socket, 512)).toBe("closed");
  });

  test("of a small declared body keeps the connection, and pipelined requests are answered in order", async () => {
    let count = 0;
    const port = await serve((req, res) => {
      count++;
      if (count === 2) reading(req, res);
      else refusing(count === 1 ? "UNAUTHORIZED" : "BUSY")(req, res);
    });
    const request = `${head("Content-Length: 5")}hello`;
    const raw = await exchange(port, request + request + `${head("Content-Length: 5", "Connection: close")}hello`);
    expect(statuses(raw)).toEqual([401, 200, 503]);
  });

  test("of a small declared body that does not come closes the connection in the end", async () => {
    const port = await serve((req, res) => sendAnswer(req, res, answerRefusal(refuse("UNAUTHORIZED")), SOON));
    const raw = await exchange(port, `${head("Content-Length: 5")}hel`);
    expect(statuses(raw)).toEqual([401]);
    expect(raw).not.toMatch(/^connection: close/im);
  });

  test("over the size kept for going on closes the connection", async () => {
    const port = await serve(refusing("UNAUTHORIZED"));
    const raw = await exchange(port, head("Content-Length: 65537") + "x".repeat(65_537));
    expect(statuses(raw)).toEqual([401]);
    expect(raw).toMatch(/^connection: close\r$/im);
  });

  test.each<[string, ErrorCode, string[]]>([
    ["because the client asked for it", "UNAUTHORIZED", ["Connection: close"]],
    ["because the gateway shuts down", "SHUTTING_DOWN", []],
  ])("closes a connection that is to be closed %s only once a small body is in", async (_why, code, lines) => {
    const port = await serve((req, res) => {
      sendAnswer(req, res, answerRefusal(refuse(code)), { maxBytes: MIB, timeoutMs: 60_000 });
    });
    const socket = dial(port);
    socket.write(head("Content-Length: 5", ...lines));
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toContain(`"code":"${code}"`);
    expect(first.toString()).toMatch(/^connection: close\r$/im);
    await new Promise((resolve) => {
      setTimeout(resolve, 30);
    });
    expect(socket.readableEnded).toBe(false);
    socket.write("hello");
    await once(socket, "close");
  });

  test("to a request without a body keeps the connection", async () => {
    const port = await serve(refusing("METHOD_NOT_ALLOWED"));
    const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const raw = await exchange(port, get + get + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(statuses(raw)).toEqual([405, 405, 405]);
  });

  test("without content closes the connection as well", async () => {
    const port = await serve((req, res) => sendAnswer(req, res, answerEmpty(200, { "x-a": "1" })));
    const raw = await exchange(port, `${head("Transfer-Encoding: chunked")}5\r\nhello\r\n0\r\n\r\n`);
    expect(statuses(raw)).toEqual([200]);
    expect(raw).toMatch(/^connection: close\r$/im);
  });
});

describe("an answer in the middle of the body", () => {
  test("spec 7: 413 to a chunked body over the limit is read by its sender before the connection closes", async () => {
    const port = await serve(reading);
    const socket = dial(port);
    socket.pause();
    socket.write(head("Transfer-Encoding: chunked"));
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    for (let index = 0; index < 100; index++) socket.write(chunk);
    socket.write("0\r\n\r\n");
    const raw = await receiveAll(socket);
    expect(statuses(raw)).toEqual([413]);
    expect(raw).toMatch(/^connection: close\r$/im);
  });

  test("413 to a small declared body over the limit closes the connection too", async () => {
    const port = await serve(reading);
    const raw = await exchange(port, head("Content-Length: 1001") + "x".repeat(1001));
    expect(statuses(raw)).toEqual([413]);
    expect(raw).toMatch(/^connection: close\r$/im);
  });

  test("408 to a body that stays out is sent, and the connection closes when its sender does", async () => {
    const port = await serve(reading);
    const socket = dial(port);
    socket.write(`${head("Content-Length: 10")}hello`);
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(statuses(first.toString())).toEqual([408]);
    expect(first.toString()).toMatch(/^connection: close\r$/im);
    socket.end();
    await once(socket, "close");
  });

  test("lets go of a body that is complete but was held back, and the next request is answered", async () => {
    let calls = 0;
    const ended = Promise.withResolvers<void>();
    const port = await serve((req, res) => {
      calls++;
      if (calls === 2) return reading(req, res);
      req.once("data", () => {
        req.pause();
        setTimeout(() => sendAnswer(req, res, answerRefusal(refuse("UNAUTHORIZED"))), 20);
      });
      req.on("end", ended.resolve);
    });
    const request = `${head("Transfer-Encoding: chunked")}5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n`;
    const raw = await exchange(port, `${request}${head("Content-Length: 5", "Connection: close")}hello`);
    expect(statuses(raw)).toEqual([401, 200]);
    await ended.promise;
  });
});

/** Sends that many MiB as the connection takes them; stops when it closes. */
async function sendMebibytes(socket: Socket, count: number): Promise<"sent" | "closed"> {
  const mebibyte = Buffer.alloc(MIB, "x");
  for (let index = 0; index < count && !socket.destroyed; index++) {
    if (socket.write(mebibyte)) continue;
    await new Promise<void>((resolve) => {
      socket.once("drain", resolve);
      socket.once("close", () => resolve());
    });
  }
  return socket.destroyed ? "closed" : "sent";
}
