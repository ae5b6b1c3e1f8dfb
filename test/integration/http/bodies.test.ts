import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chunked, wireRequest } from "./http-connection.ts";
import type { WireAnswer } from "./http-connection.ts";
import { AUTHORIZED, RunningGateway } from "./running-gateway.ts";

const LIMIT = 1_024;
const LARGE = 4_096;
const SMALL = 64;
const CHUNKED = "Transfer-Encoding: chunked";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: {
      maxBodyBytes: LIMIT,
      bodyTimeoutSeconds: 0.3,
      mappings: [
        {
          match: { path: "large" },
          maxBodyBytes: LARGE,
          action: "wake",
          wakeMode: "next-heartbeat",
          textTemplate: "x",
        },
        {
          match: { path: "small" },
          maxBodyBytes: SMALL,
          action: "wake",
          wakeMode: "next-heartbeat",
          textTemplate: "x",
        },
        {
          match: { path: "shared", source: "large" },
          maxBodyBytes: LARGE,
          action: "wake",
          wakeMode: "next-heartbeat",
          textTemplate: "x",
        },
        { match: { path: "shared" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "x" },
      ],
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** A wake of exactly that many bytes. */
function wakeOf(bytes: number, fields: object = {}): string {
  const bare = JSON.stringify({ text: "", mode: "next-heartbeat", ...fields }).length;
  return JSON.stringify({ text: "x".repeat(bytes - bare), mode: "next-heartbeat", ...fields });
}

function post(target: string, body: string): Promise<WireAnswer> {
  return gateway.send({ target, headers: [AUTHORIZED], body });
}

function postChunked(target: string, body: string, sizes: readonly number[] = []): Promise<WireAnswer> {
  return gateway.send({ target, headers: [AUTHORIZED, CHUNKED], body: chunked(body, { sizes }) });
}

describe("the size of a body", () => {
  it("may be exactly the limit, declared or in chunks", async () => {
    expect((await post("/hooks/wake", wakeOf(LIMIT))).status).toBe(200);
    expect((await postChunked("/hooks/wake", wakeOf(LIMIT))).status).toBe(200);
    const bytewise = Array.from({ length: LIMIT }, () => 1);
    expect((await postChunked("/hooks/wake", wakeOf(LIMIT), bytewise)).status).toBe(200);
  });

  it("spec 7: over the limit by one byte is answered 413, declared or in chunks", async () => {
    for (const answer of [
      await post("/hooks/wake", wakeOf(LIMIT + 1)),
      await postChunked("/hooks/wake", wakeOf(LIMIT + 1)),
      await postChunked("/hooks/wake", wakeOf(LIMIT + 1), [LIMIT]),
    ]) {
      expect(answer.status).toBe(413);
      expect(JSON.parse(answer.text)).toMatchObject({ ok: false, code: "BODY_TOO_LARGE" });
    }
  });

  it("spec 8: is 256 KiB where nothing else is configured", async () => {
    await using plain = await RunningGateway.start();
    const fits = await plain.send({ headers: [AUTHORIZED], body: wakeOf(262_144) });
    expect(fits.status).toBe(200);
    expect((await plain.send({ headers: [AUTHORIZED], body: wakeOf(262_145) })).status).toBe(413);
  });

  it("is limited by the mapping's own limit, above and below the general one", async () => {
    expect((await post("/hooks/large", wakeOf(LARGE))).status).toBe(200);
    expect((await post("/hooks/large", wakeOf(LARGE + 1))).status).toBe(413);
    expect((await post("/hooks/small", wakeOf(SMALL))).status).toBe(200);
    expect((await post("/hooks/small", wakeOf(SMALL + 1))).status).toBe(413);
    expect((await postChunked("/hooks/small", wakeOf(SMALL + 1))).status).toBe(413);
  });

  it("is limited by the mapping that owns the request where several share a path", async () => {
    expect((await post("/hooks/shared", wakeOf(LARGE, { source: "large" }))).status).toBe(200);
    expect((await post("/hooks/shared", wakeOf(LIMIT, { source: "other" }))).status).toBe(200);
    expect((await post("/hooks/shared", wakeOf(LIMIT + 1, { source: "other" }))).status).toBe(413);
  });
});

describe("a body that is too large", () => {
  it("is answered before any of it is sent, and then the connection closes", async () => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, "Content-Length: 1025"] }));
    const answer = await connection.answer();
    expect(answer.status).toBe(413);
    expect(answer.headers["connection"]).toBe("close");
    connection.end();
    expect(await connection.untilClosed()).toEqual([]);
  });

  it.each([
    ["declared", ["Content-Length: 8388608"], Buffer.alloc(8_388_608, "x")],
    [
      "in chunks",
      [CHUNKED],
      chunked(Buffer.alloc(8_388_608, "x"), { sizes: Array.from({ length: 128 }, () => 65_536) }),
    ],
  ])("is answered to a sender that sends all of it first: 8 MiB %s", async (_case, framing, body) => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, ...framing], body }));
    expect((await connection.answer()).status).toBe(413);
    expect(await connection.untilClosed()).toEqual([]);
  });

  it("is no beginning of another request", async () => {
    const hidden = wireRequest({ headers: [AUTHORIZED], body: wakeOf(100) }).toString();
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED], body: hidden.padEnd(LIMIT + 1) }));
    expect(await connection.untilClosed()).toMatchObject([{ status: 413 }]);
  });

  it("leaves no delivery", async () => {
    const before = (await gateway.deliveries())[0]?.id;
    await post("/hooks/wake", wakeOf(LIMIT + 1));
    expect((await gateway.deliveries())[0]?.id).toBe(before);
  });
});

describe("a body that does not come in time", () => {
  it.each([
    ["declared", wireRequest({ headers: [AUTHORIZED, "Content-Length: 100"], body: '{"text":' })],
    ["in chunks", wireRequest({ headers: [AUTHORIZED, CHUNKED], body: '8\r\n{"text":\r\n' })],
    ["declared and not begun", wireRequest({ headers: [AUTHORIZED, "Content-Length: 100"] })],
  ])("is answered 408, and then the connection closes: %s", async (_case, request) => {
    const connection = await gateway.connect();
    connection.send(request);
    const answer = await connection.answer();
    expect(answer.status).toBe(408);
    expect(answer.headers["connection"]).toBe("close");
    expect(JSON.parse(answer.text)).toMatchObject({ ok: false, code: "BODY_TIMEOUT" });
    connection.end();
    expect(await connection.untilClosed()).toEqual([]);
  });

  it("is answered 408 also when it never pauses", async () => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, "Content-Length: 1000"] }));
    const sender = { isOn: true };
    const trickle = (async () => {
      while (sender.isOn) {
        connection.send("x");
        await sleep(20);
      }
    })();
    expect((await connection.answer()).status).toBe(408);
    sender.isOn = false;
    await trickle;
  });

  it("costs the next one nothing: a connection that goes away in the middle leaves no trace", async () => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, "Content-Length: 100"], body: '{"text":' }));
    await sleep(20);
    connection.destroy();
    const before = (await gateway.deliveries())[0]?.id;
    expect((await gateway.deliveries())[0]?.id).toBe(before);
    expect((await post("/hooks/wake", wakeOf(100))).status).toBe(200);
    expect(gateway.errors).toEqual([]);
  });
});

describe("a Content-Encoding", () => {
  it.each(["gzip", "br", "deflate", "gzip, identity", "x"])("is answered 415: %s", async (encoding) => {
    const headers = [AUTHORIZED, `Content-Encoding: ${encoding}`];
    const answer = await gateway.send({ headers, body: wakeOf(100) });
    expect(answer.status).toBe(415);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "UNSUPPORTED_ENCODING" });
  });

  it.each(["identity", "Identity", ""])("is none where it says so: %j", async (encoding) => {
    const headers = [AUTHORIZED, `Content-Encoding: ${encoding}`];
    expect((await gateway.send({ headers, body: wakeOf(100) })).status).toBe(200);
  });
});
