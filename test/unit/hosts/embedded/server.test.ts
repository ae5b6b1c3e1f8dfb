import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { HttpRoute } from "../../../../src/core/host.ts";
import { GatewayServer } from "../../../../src/hosts/embedded/server.ts";
import type { ServerLimits } from "../../../../src/hosts/embedded/server.ts";
import { ListenError } from "../../../../src/hosts/embedded/errors.ts";
import { RoutingTable } from "../../../../src/hosts/embedded/server/routing-table.ts";
import { RawConnection } from "./server/raw-connection.ts";
import { recordingLogger } from "./server/recording-logger.ts";

type Handler = HttpRoute["handler"];

const logger = recordingLogger();
let cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  cleanups = [];
  logger.lines.length = 0;
});

function table(routes: Record<string, Handler>): RoutingTable {
  const built = new RoutingTable();
  for (const [path, handler] of Object.entries(routes)) built.register({ path, match: "prefix", handler });
  return built;
}

async function serve(routes: Record<string, Handler>, limits: Partial<ServerLimits> = {}): Promise<GatewayServer> {
  const server = await GatewayServer.listen({ host: "127.0.0.1", port: 0, routes: table(routes), logger, limits });
  cleanups.push(() => server.close(0));
  return server;
}

async function open(server: GatewayServer): Promise<RawConnection> {
  const connection = await RawConnection.open(server.port);
  cleanups.push(() => {
    connection.destroy();
  });
  return connection;
}

function answer(res: ServerResponse, text: string): void {
  const body = JSON.stringify({ text });
  res.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  res.end(body);
}

async function readBody(req: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of req) body += String(chunk);
  return body;
}

describe("GatewayServer", () => {
  it("gives a handler the request with its body unread", async () => {
    const server = await serve({ "/echo": async (req, res) => answer(res, await readBody(req)) });
    const response = await fetch(`http://127.0.0.1:${server.port}/echo`, { method: "POST", body: "hello" });
    expect(await response.json()).toEqual({ text: "hello" });
  });

  it("sends the common headers with every answer, however the handler writes its head", async () => {
    const server = await serve({
      "/object": (_req, res) => answer(res, "x"),
      "/list": (_req, res) => void res.writeHead(200, "Fine", ["X-Own", "1"]).end("{}"),
      "/set": (_req, res) => {
        res.setHeader("X-Own", "1");
        res.statusCode = 201;
        res.end("{}");
      },
      "/named": (_req, res) => void res.writeHead(202, "Taken", { "X-Own": "1" }).end("{}"),
    });
    for (const [path, status] of Object.entries({ object: 200, list: 200, set: 201, named: 202, missing: 404 })) {
      const response = await fetch(`http://127.0.0.1:${server.port}/${path}`);
      expect(response.status).toBe(status);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      if (!["object", "missing"].includes(path)) expect(response.headers.get("x-own")).toBe("1");
      await response.body?.cancel();
    }
  });

  it("answers 404 in JSON under an unregistered path", async () => {
    const server = await serve({});
    const response = await fetch(`http://127.0.0.1:${server.port}/nothing`);
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await response.json()).toMatchObject({ ok: false, code: "NOT_FOUND" });
  });

  it("answers 500 without the reason, and logs it, when a handler throws", async () => {
    const server = await serve({
      "/now": () => {
        throw new Error("secret detail");
      },
      "/later": async (_req, res) => {
        res.setHeader("X-Half", "1");
        await Promise.resolve();
        throw new Error("secret detail");
      },
    });
    for (const path of ["now", "later"]) {
      const response = await fetch(`http://127.0.0.1:${server.port}/${path}`);
      expect(response.status).toBe(500);
      expect(response.headers.get("x-half")).toBeNull();
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ ok: false, code: "INTERNAL" });
      expect(text).not.toContain("secret detail");
    }
    expect(logger.lines.filter(({ level }) => level === "error")).toHaveLength(2);
    expect(String(logger.lines[0]?.fields.err)).toContain("secret detail");
  });

  it("cuts the connection when a handler throws in the middle of its answer", async () => {
    const server = await serve({
      "/": async (_req, res) => {
        res.writeHead(200, { "Content-Length": 100 });
        res.write("part");
        await Promise.resolve();
        throw new Error("broke off");
      },
    });
    const connection = await open(server);
    connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await connection.untilEnd()).not.toContain("INTERNAL");
  });

  it("survives a handler that writes after the end", async () => {
    const server = await serve({
      "/": (_req, res) => {
        res.end("{}");
        res.write("more");
      },
    });
    for (let round = 0; round < 2; round++) {
      const response = await fetch(`http://127.0.0.1:${server.port}/`);
      expect(await response.text()).toBe("{}");
    }
  });

  it("takes a new routing table at once and leaves requests in progress to the old one", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const started = Promise.withResolvers<void>();
    const server = await serve({
      "/x": async (_req, res) => {
        started.resolve();
        await held;
        answer(res, "old");
      },
    });
    const first = fetch(`http://127.0.0.1:${server.port}/x`);
    await started.promise;
    server.use(table({ "/x": (_req, res) => answer(res, "new") }));
    const second = await fetch(`http://127.0.0.1:${server.port}/x`);
    expect(await second.json()).toEqual({ text: "new" });
    release();
    expect(await (await first).json()).toEqual({ text: "old" });
  });

  it("says in one sentence that a port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    cleanups.push(() => void other.close());
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const listening = GatewayServer.listen({ host: "127.0.0.1", port, routes: table({}), logger });
    await expect(listening).rejects.toThrow(ListenError);
    await expect(listening).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use by another process`);
  });

  it("says in one sentence that an address is not this machine's", async () => {
    const listening = GatewayServer.listen({ host: "192.0.2.1", port: 0, routes: table({}), logger });
    await expect(listening).rejects.toThrow("192.0.2.1 is not an address of this machine");
  });
});

describe("Expect", () => {
  const head = (length: number): string =>
    `POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`;

  it("sends 100 when the handler starts to read, then the answer", async () => {
    const server = await serve({ "/x": async (req, res) => answer(res, await readBody(req)) });
    const connection = await open(server);
    connection.send(head(5));
    expect(await connection.until(() => connection.received !== "")).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    connection.send("hello");
    expect(await connection.answers(1)).toContain('{"text":"hello"}');
    connection.send(head(5));
    await connection.until(() => connection.received.endsWith("100 Continue\r\n\r\n"));
    connection.send("again");
    expect(await connection.answers(2)).toContain('{"text":"again"}');
  });

  it("sends 100 once for a handler that listens for data", async () => {
    const server = await serve({
      "/x": (req, res) => {
        let body = "";
        req.on("data", (chunk) => (body += String(chunk)));
        req.on("end", () => {
          answer(res, body);
        });
      },
    });
    const connection = await open(server);
    connection.send(head(10));
    await connection.until(() => connection.received !== "");
    connection.send("hello");
    connection.send("world");
    const received = await connection.answers(1);
    expect(received.match(/100 Continue/gu)).toHaveLength(1);
    expect(received).toContain("helloworld");
  });

  it("sends no 100 when the handler refuses unread, and closes, since the body may or may not follow", async () => {
    const server = await serve({ "/x": (_req, res) => void res.writeHead(401).end('{"no":1}') });
    const connection = await open(server);
    connection.send(head(5));
    const received = await connection.untilEnd();
    expect(received).not.toContain("100 Continue");
    expect(received).toMatch(/^HTTP\/1\.1 401/u);
    expect(received).toMatch(/^connection: close/imu);
  });

  it("answers 417 to any other expectation", async () => {
    const server = await serve({ "/x": (_req, res) => answer(res, "reached") });
    const connection = await open(server);
    connection.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: the-unexpected\r\n\r\n");
    const received = await connection.untilEnd();
    expect(received).toMatch(/^HTTP\/1\.1 417/u);
    expect(received).not.toContain("reached");
  });
});

describe("broken requests", () => {
  it("answers 400 in JSON to what is not HTTP, and closes", async () => {
    const server = await serve({});
    const connection = await open(server);
    connection.send("hello?\r\n\r\n");
    const received = await connection.untilEnd();
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/u);
    expect(received).toContain("connection: close");
    expect(JSON.parse(received.split("\r\n\r\n")[1] ?? "")).toMatchObject({ ok: false, code: "BAD_REQUEST" });
  });

  it("answers 431 to headers over 16 KiB, however much follows them", async () => {
    const server = await serve({ "/": (_req, res) => answer(res, "reached") });
    const connection = await open(server);
    connection.send(`GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(300_000)}\r\n\r\n`);
    expect(await connection.untilEnd()).toMatch(/^HTTP\/1\.1 431/u);
  });

  it("answers 408 to headers that do not arrive in time", async () => {
    const server = await serve({}, { headersTimeoutMs: 50, checkIntervalMs: 20 });
    const connection = await open(server);
    connection.send("GET / HTTP/1.1\r\nHost: x\r\n");
    expect(await connection.untilEnd()).toMatch(/^HTTP\/1\.1 408/u);
  });

  it("answers 408 to a body that does not arrive in time, when the handler has no deadline", async () => {
    const server = await serve(
      { "/": async (req, res) => answer(res, await readBody(req)) },
      { headersTimeoutMs: 50, requestTimeoutMs: 60, checkIntervalMs: 20 },
    );
    const connection = await open(server);
    connection.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    expect(await connection.untilEnd()).toMatch(/^HTTP\/1\.1 408/u);
  });

  it("answers 400 to a body that is broken, unless the answer has begun", async () => {
    const begun = Promise.withResolvers<void>();
    const server = await serve({
      "/read": async (req, res) => answer(res, await readBody(req)),
      "/begun": (req, res) => {
        res.writeHead(200, { "Content-Length": 100 });
        res.write("part");
        req.resume();
        begun.resolve();
      },
    });
    const chunked = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const reading = await open(server);
    reading.send(`${chunked("/read")}zz\r\n`);
    expect(await reading.untilEnd()).toMatch(/^HTTP\/1\.1 400/u);
    const answering = await open(server);
    answering.send(chunked("/begun"));
    await begun.promise;
    answering.send("zz\r\n");
    expect(await answering.untilEnd()).not.toContain("400");
  });

  it("answers pipelined requests in order, and a broken one after them without touching their answers", async () => {
    const gate = Promise.withResolvers<void>();
    const server = await serve({
      "/slow": async (_req, res) => {
        await gate.promise;
        answer(res, "slow");
      },
      "/fast": (_req, res) => answer(res, "fast"),
    });
    const connection = await open(server);
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    connection.send(`${get("/slow")}${get("/fast")}b r o k e n\r\n\r\n`);
    connection.send("more rubbish\r\n\r\n");
    setTimeout(gate.resolve, 30);
    const received = await connection.untilEnd();
    const order = ["slow", "fast", "BAD_REQUEST"].map((word) => received.indexOf(word));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(received.match(/HTTP\/1\.1 \d+/gu)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 400"]);
  });

  it("drops a connection that breaks while an earlier answer is awaited and that goes away", async () => {
    const gone = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const server = await serve({
      "/slow": async (req, res) => {
        res.on("close", closed.resolve);
        req.socket.once("end", gone.resolve);
        await gone.promise;
        answer(res, "slow");
      },
    });
    const connection = await open(server);
    connection.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\nb r o k e n\r\n\r\n");
    connection.destroy();
    await closed.promise;
    expect((await fetch(`http://127.0.0.1:${server.port}/none`)).status).toBe(404);
  });

  it("refuses an upgrade by answering the request as a plain one", async () => {
    const server = await serve({ "/": (_req, res) => answer(res, "plain") });
    const connection = await open(server);
    connection.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    expect(await connection.answers(1)).toMatch(/^HTTP\/1\.1 200[\s\S]*plain/u);
  });

  it("refuses CONNECT and closes", async () => {
    const server = await serve({});
    const connection = await open(server);
    connection.send("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n");
    expect(await connection.untilEnd()).toMatch(/^HTTP\/1\.1 405/u);
  });

  it("answers a client that closes its side right after its request, and then closes", async () => {
    const gate = Promise.withResolvers<void>();
    const server = await serve({
      "/": async (req, res) => {
        req.resume();
        await once(req, "end");
        await once(req.socket, "end");
        await gate.promise;
        answer(res, "late");
      },
    });
    const connection = await RawConnection.open(server.port, { allowHalfOpen: true });
    connection.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
    connection.end();
    gate.resolve();
    expect(await connection.untilEnd()).toMatch(/^HTTP\/1\.1 200[\s\S]*late/u);
  });

  it("cuts off a refused client that keeps sending", async () => {
    const server = await serve({});
    const connection = await RawConnection.open(server.port, { allowHalfOpen: true });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    cleanups.push(() => void vi.useRealTimers());
    connection.send("nonsense\r\n\r\n");
    await connection.answers(1);
    // What is still on its way must not cost the client the answer: it is taken in for a while.
    for (const passedMs of [...Array<number>(10).fill(0), 500, 499, 0]) {
      vi.advanceTimersByTime(passedMs);
      connection.send("more nonsense\r\n\r\n");
      await sleep(40);
    }
    expect(connection.ended).toBe(false);
    const sending = setInterval(() => {
      connection.send("nonsense\r\n\r\n");
    }, 50);
    vi.advanceTimersByTime(1);
    const received = await connection.untilEnd();
    clearInterval(sending);
    expect(received.match(/HTTP\/1\.1 400/gu)).toHaveLength(1);
  });

  it("takes a request target in absolute form", async () => {
    const server = await serve({ "/x": (req, res) => answer(res, String(req.url)) });
    const connection = await open(server);
    connection.send("GET http://example.com/x/y?z=1 HTTP/1.1\r\nHost: example.com\r\n\r\n");
    expect(await connection.answers(1)).toContain('{"text":"/x/y?z=1"}');
  });
});

describe("shutting down", () => {
  it("answers 503 on new and on open connections and lets answers in progress finish", async () => {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const server = await serve({
      "/slow": async (_req, res) => {
        started.resolve();
        await gate.promise;
        answer(res, "finished");
      },
    });
    const { port } = server;
    const slow = await open(server);
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    await started.promise;
    server.stopAccepting();
    const refused = await fetch(`http://127.0.0.1:${port}/slow`);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual([
      503,
      "1",
      "close",
    ]);
    const next = Promise.withResolvers<void>();
    const onRequest = (): void => next.resolve();
    subscribe("http.server.request.start", onRequest);
    cleanups.push(() => void unsubscribe("http.server.request.start", onRequest));
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    const closed = server.close(10_000);
    // Only a request that comes before the answer has ended is answered.
    await next.promise;
    gate.resolve();
    await closed;
    const received = await slow.untilEnd();
    expect(received.indexOf("finished")).toBeGreaterThan(-1);
    expect(received).toContain("SHUTTING_DOWN");
    expect(received).toMatch(/^retry-after: 1/mu);
  });

  it("answers 503 to a caller who connected before and sends a moment later", async () => {
    const server = await serve({ "/": (_req, res) => answer(res, "x") });
    const connection = await open(server);
    const closed = server.close(60_000);
    await sleep(100);
    connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await connection.untilEnd()).toMatch(/^HTTP\/1\.1 503 /u);
    await closed;
  });

  it("does not wait for idle connections, and not for long for ones that never sent anything", async () => {
    const server = await serve({ "/": (_req, res) => answer(res, "x") });
    const idle = await open(server);
    idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await idle.answers(1);
    const silent = await open(server);
    await server.close(60_000);
    await idle.untilEnd();
    await silent.untilEnd();
  });

  it("waits for a handler whose client has gone, and for its connection to be closed", async () => {
    const [started, gone, ended] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    let hasEnded = false;
    const server = await serve({
      "/": async (req, res) => {
        req.socket.once("end", () => gone!.resolve());
        started!.resolve();
        await ended!.promise;
        hasEnded = true;
        answer(res, "late");
      },
    });
    const connection = await open(server);
    connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await started!.promise;
    connection.destroy();
    await gone!.promise;
    const closed = server.close(60_000).then(() => hasEnded);
    await sleep(50);
    ended!.resolve();
    expect(await closed).toBe(true);
  });

  it("cuts what is left at the deadline", async () => {
    const started = Promise.withResolvers<void>();
    const server = await serve({
      "/": () => {
        started.resolve();
      },
    });
    const connection = await open(server);
    connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await started.promise;
    await server.close(40);
    expect(await connection.untilEnd()).toBe("");
  });
});

describe("ListenError", () => {
  it("says what can be done about each reason", () => {
    const reasons = {
      EADDRINUSE: "is in use by another process",
      EACCES: "may not be used by this user",
      ENOTFOUND: "is not an address of this machine",
      EWHATEVER: "Listening on 127.0.0.1, port 80, failed: the reason.",
    };
    for (const [code, words] of Object.entries(reasons)) {
      const cause = Object.assign(new Error("the reason"), { code });
      expect(new ListenError({ host: "127.0.0.1", port: 80 }, cause).message).toContain(words);
    }
    expect(new ListenError({ host: "127.0.0.1", port: 80 }, new Error("odd")).message).toContain("failed: odd.");
  });
});
