import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chunked, wireRequest } from "./http-connection.ts";
import { AUTHORIZED, HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";

const CHUNKED = "Transfer-Encoding: chunked";
const EXPECT = "Expect: 100-continue";
const WAKE = JSON.stringify({ text: "x", mode: "next-heartbeat" });

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({ hooks: { maxBodyBytes: 4_096, lockout: { failures: 1_000 } } });
});
afterAll(() => gateway[Symbol.asyncDispose]());

function wakeText(text: string): string {
  return JSON.stringify({ text, mode: "next-heartbeat" });
}

describe("a request whose sender waits for 100 Continue", () => {
  it("gets it before its body is read, and then its answer", async () => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, EXPECT, `Content-Length: ${WAKE.length}`] }));
    expect((await connection.answer()).status).toBe(100);
    expect(connection.hasUnread).toBe(false);
    connection.send(WAKE);
    expect((await connection.answer()).status).toBe(200);
    // The connection goes on.
    connection.send(wireRequest({ headers: [AUTHORIZED], body: WAKE }));
    expect((await connection.answer()).status).toBe(200);
  });

  it("gets it for a body in chunks, too", async () => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, EXPECT, CHUNKED] }));
    expect((await connection.answer()).status).toBe(100);
    connection.send(chunked(WAKE, { sizes: [3, 1] }));
    expect((await connection.answer()).status).toBe(200);
  });

  it.each([
    ["401 without a credential", { headers: [EXPECT, "Content-Length: 100"] }, 401],
    ["401 with a wrong one", { headers: [EXPECT, "Authorization: Bearer no", "Content-Length: 100"] }, 401],
    ["413 when it declares too large a body", { headers: [AUTHORIZED, EXPECT, "Content-Length: 4097"] }, 413],
    [
      "415 when the body is encoded",
      { headers: [AUTHORIZED, EXPECT, "Content-Encoding: gzip", "Content-Length: 9"] },
      415,
    ],
    ["404 on a path without a hook", { target: "/hooks/x", headers: [AUTHORIZED, EXPECT, "Content-Length: 9"] }, 404],
    [
      "400 with a token in the query",
      { target: "/hooks/wake?token=x", headers: [AUTHORIZED, EXPECT, "Content-Length: 9"] },
      400,
    ],
    ["405 with another method", { method: "PUT", headers: [AUTHORIZED, EXPECT, "Content-Length: 9"] }, 405],
  ])("is answered at once with %s, without 100 Continue", async (_case, request, status) => {
    const connection = await gateway.connect();
    connection.send(wireRequest(request));
    expect((await connection.answer()).status).toBe(status);
    connection.end();
    expect(await connection.untilClosed()).toEqual([]);
  });

  it("is answered 417 when it expects anything else", async () => {
    const answer = await gateway.send({ headers: [AUTHORIZED, "Expect: miracles"], body: WAKE });
    expect(answer.status).toBe(417);
  });
});

describe("a body in chunks", () => {
  it("is put together, whatever its chunks and extensions", async () => {
    const connection = await gateway.connect();
    const body = wakeText("put together");
    connection.send(wireRequest({ headers: [AUTHORIZED, CHUNKED], body: chunked(body, { sizes: [1, 2, 3, 5, 8] }) }));
    const answer = await connection.answer();
    expect(answer.status).toBe(200);
    const { deliveryId } = JSON.parse(answer.text) as { deliveryId: string };
    expect((await gateway.delivery(deliveryId)).runs[0]!.spec).toMatchObject({ text: "put together" });
    const extended = `${WAKE.length.toString(16)};name=value\r\n${WAKE}\r\n0\r\n\r\n`;
    connection.send(wireRequest({ headers: [AUTHORIZED, CHUNKED], body: extended }));
    expect((await connection.answer()).status).toBe(200);
  });

  it("may have trailers, which are no headers: none authorizes, none is stored", async () => {
    const connection = await gateway.connect();
    const trailers = [AUTHORIZED, `x-service-token: ${HOOK_TOKEN}`, "x-event: trailer"];
    connection.send(wireRequest({ headers: [CHUNKED], body: chunked(WAKE, { trailers }) }));
    expect((await connection.answer()).status).toBe(401);
    const again = await gateway.connect();
    again.send(wireRequest({ headers: [AUTHORIZED, CHUNKED], body: chunked(WAKE, { trailers }) }));
    const answer = await again.answer();
    expect(answer.status).toBe(200);
    const { deliveryId } = JSON.parse(answer.text) as { deliveryId: string };
    const stored = JSON.stringify(await gateway.delivery(deliveryId));
    expect(stored).not.toContain(HOOK_TOKEN);
    expect(stored).not.toContain("trailer");
  });

  it.each(["x\r\nbad\r\n0\r\n\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\nx", "5\r\nabc\r\n0\r\n\r\n"])(
    "that is no such thing is 400 and never accepted: %j",
    async (body) => {
      const before = (await gateway.deliveries())[0]?.id;
      const connection = await gateway.connect();
      connection.send(wireRequest({ headers: [AUTHORIZED, CHUNKED], body }));
      connection.end();
      expect((await connection.untilClosed()).map(({ status }) => status)).toEqual([400]);
      expect((await gateway.deliveries())[0]?.id).toBe(before);
    },
  );
});

describe("a request that two readers could read differently", () => {
  const smuggled = wireRequest({ headers: [AUTHORIZED], body: wakeText("smuggled") }).toString();

  it.each([
    ["a length and chunks", ["Content-Length: 6", CHUNKED], `0\r\n\r\n${smuggled}`],
    ["chunks and a length", [CHUNKED, "Content-Length: 6"], `0\r\n\r\n${smuggled}`],
    ["two lengths", ["Content-Length: 0", `Content-Length: ${smuggled.length}`], smuggled],
    ["a list of lengths", [`Content-Length: 0, ${smuggled.length}`], smuggled],
    ["a signed length", [`Content-Length: +${smuggled.length}`], smuggled],
    ["a hexadecimal length", [`Content-Length: 0x${smuggled.length.toString(16)}`], smuggled],
    ["chunks that are not the last coding", ["Transfer-Encoding: chunked, identity"], `0\r\n\r\n${smuggled}`],
    ["an unknown transfer coding", ["Transfer-Encoding: xchunked"], `0\r\n\r\n${smuggled}`],
    ["a blank before the colon", ["Transfer-Encoding : chunked"], `0\r\n\r\n${smuggled}`],
    ["a folded header", ["X-A: b\r\n Content-Length: 5"], smuggled],
    ["a line that ends in a lone line feed", ["X-A: b\nTransfer-Encoding: chunked"], `0\r\n\r\n${smuggled}`],
    ["a NUL in a header", ["X-A: b\0c"], smuggled],
  ])("is refused as a whole, and nothing behind it is a request: %s", async (_case, headers, body) => {
    const before = (await gateway.deliveries())[0]?.id;
    const connection = await gateway.connect();
    connection.send(wireRequest({ headers: [AUTHORIZED, ...headers], body }));
    connection.end();
    const answers = await connection.untilClosed();
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect((await gateway.deliveries())[0]?.id).toBe(before);
  });

  it("is refused without a host, and with two", async () => {
    for (const lines of [["Content-Length: 0"], ["Host: a", "Host: b", "Content-Length: 0"]]) {
      const connection = await gateway.connect();
      connection.send(["POST /hooks/wake HTTP/1.1", AUTHORIZED, ...lines, "", ""].join("\r\n"));
      connection.end();
      expect((await connection.untilClosed()).map(({ status }) => status)).toEqual([400]);
    }
  });
});

describe("a request in another version or for another protocol", () => {
  it("of HTTP/1.0 is answered, and the connection closes", async () => {
    const connection = await gateway.connect();
    connection.send(["POST /hooks/wake HTTP/1.0", AUTHORIZED, `Content-Length: ${WAKE.length}`, "", WAKE].join("\r\n"));
    expect((await connection.untilClosed()).map(({ status }) => status)).toEqual([200]);
  });

  it.each(["HTTP/0.9", "HTTP/2.0", "HTTP/3.14", "HTTP/11", "SIP/2.0"])("of %s is 400", async (version) => {
    const connection = await gateway.connect();
    connection.send(`POST /hooks/wake ${version}\r\nHost: a\r\n${AUTHORIZED}\r\nContent-Length: 0\r\n\r\n`);
    expect((await connection.untilClosed()).map(({ status }) => status)).toEqual([400]);
  });

  it("that asks for an upgrade is answered as if it had not", async () => {
    for (const protocol of ["websocket", "h2c"]) {
      const headers = [AUTHORIZED, "Connection: Upgrade", `Upgrade: ${protocol}`];
      expect((await gateway.send({ headers, body: WAKE })).status).toBe(200);
      expect((await gateway.send({ headers: headers.slice(1), body: WAKE })).status).toBe(401);
    }
  });

  it("that asks for a tunnel is 405, and there is none", async () => {
    const connection = await gateway.connect();
    connection.send(`CONNECT gateway.test:443 HTTP/1.1\r\nHost: a\r\n${AUTHORIZED}\r\n\r\n`);
    expect((await connection.answer()).status).toBe(405);
    connection.send(wireRequest({ headers: [AUTHORIZED], body: WAKE }));
    expect(await connection.untilClosed()).toEqual([]);
  });
});

describe("requests in one write", () => {
  it("are answered in their order: ten calls, each its own delivery", async () => {
    const connection = await gateway.connect();
    const texts = Array.from({ length: 10 }, (_, at) => `pipelined ${at}`);
    connection.send(Buffer.concat(texts.map((text) => wireRequest({ headers: [AUTHORIZED], body: wakeText(text) }))));
    const stored: unknown[] = [];
    for (const answer of await connection.answers(texts.length)) {
      expect(answer.status).toBe(200);
      const { deliveryId } = JSON.parse(answer.text) as { deliveryId: string };
      const { spec } = (await gateway.delivery(deliveryId)).runs[0]!;
      stored.push(spec.kind === "wake" && spec.text);
    }
    expect(stored).toEqual(texts);
  });

  it("are answered in their order where some are refused, and the connection continues", async () => {
    const connection = await gateway.connect();
    const requests = [
      { headers: [AUTHORIZED], body: WAKE },
      { headers: [], body: WAKE },
      { target: "/hooks/nothing", headers: [AUTHORIZED], body: WAKE },
      { method: "GET", headers: [AUTHORIZED] },
      { target: "/hooks/wake?token=x", headers: [AUTHORIZED], body: WAKE },
      { headers: [AUTHORIZED], body: "{" },
      { target: "/hooks/agent", headers: [AUTHORIZED, CHUNKED], body: chunked('{"message":"x","deliver":false}') },
      { target: "/nothing", headers: [AUTHORIZED], body: WAKE },
      { headers: [AUTHORIZED], body: WAKE },
    ];
    connection.send(Buffer.concat(requests.map(wireRequest)));
    const statuses = (await connection.answers(requests.length)).map(({ status }) => status);
    expect(statuses).toEqual([200, 401, 404, 405, 400, 400, 202, 404, 200]);
  });

  it("are answered up to the first that is none, which ends the connection", async () => {
    const connection = await gateway.connect();
    const good = wireRequest({ headers: [AUTHORIZED], body: WAKE });
    connection.send(Buffer.concat([good, good, Buffer.from("NONSENSE\r\n\r\n"), good]));
    const statuses = (await connection.untilClosed()).map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 400]);
  });

  it("may come a byte at a time", async () => {
    const connection = await gateway.connect();
    for (const byte of wireRequest({ headers: [AUTHORIZED], body: WAKE })) connection.send(Buffer.from([byte]));
    expect((await connection.answer()).status).toBe(200);
  });
});
