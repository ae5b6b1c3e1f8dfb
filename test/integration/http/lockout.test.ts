import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AUTHORIZED, HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";

const WAKE = JSON.stringify({ text: "x", mode: "next-heartbeat" });
const LIMIT = 20;

const SETUP = { gateway: { trustedProxies: ["127.0.0.1", "10.0.0.0/8"] } };

let gateway: RunningGateway;
/** An address that no other test uses. */
let client: string;
let tests = 0;
beforeAll(async () => {
  gateway = await RunningGateway.start(SETUP);
  gateway.stopClock();
});
beforeEach(() => {
  client = `198.18.0.${++tests}`;
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** A call with a wrong token; `forwarded` is what the proxy in front says. */
function fail(forwarded = client) {
  return gateway.send({ headers: ["Authorization: Bearer wrong", `X-Forwarded-For: ${forwarded}`], body: WAKE });
}

function succeed(forwarded = client) {
  return gateway.send({ headers: [AUTHORIZED, `X-Forwarded-For: ${forwarded}`], body: WAKE });
}

async function failTimes(times: number, forwarded?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let round = 0; round < times; round++) statuses.push((await fail(forwarded)).status);
  return statuses;
}

describe("repeated authentication failures of one client address", () => {
  it("spec 5.5: are answered 401 twenty times, and the 21st is 429 with Retry-After in whole seconds", async () => {
    expect(await failTimes(LIMIT)).toEqual(Array.from({ length: LIMIT }, () => 401));
    const locked = await fail();
    expect(locked.status).toBe(429);
    expect(locked.headers["retry-after"]).toBe("60");
    expect(JSON.parse(locked.text)).toMatchObject({ ok: false, code: "TOO_MANY_FAILURES" });
  });

  it("do not lock out the right token, which also ends the lock", async () => {
    await failTimes(LIMIT + 1);
    expect((await fail()).status).toBe(429);
    expect((await succeed()).status).toBe(200);
    expect((await fail()).status).toBe(401);
  });

  it("lock for 60 seconds, which further tries do not extend", async () => {
    await failTimes(LIMIT);
    gateway.advance(30_000);
    const half = await fail();
    expect(half.status).toBe(429);
    expect(half.headers["retry-after"]).toBe("30");
    gateway.advance(29_000);
    expect((await fail()).headers["retry-after"]).toBe("1");
    gateway.advance(1_000);
    // The count begins at nothing.
    expect(await failTimes(LIMIT)).toEqual(Array.from({ length: LIMIT }, () => 401));
  });

  it("are forgotten after 60 seconds", async () => {
    await failTimes(LIMIT - 1);
    gateway.advance(60_000);
    expect(await failTimes(LIMIT)).toEqual(Array.from({ length: LIMIT }, () => 401));
    expect((await fail()).status).toBe(429);
  });

  it("lock no other address", async () => {
    await failTimes(LIMIT + 1);
    expect((await fail("192.0.2.2")).status).toBe(401);
  });

  it("count once for an IPv4 address, also written as an IPv6 one", async () => {
    await failTimes(LIMIT / 2, "192.0.2.7");
    await failTimes(LIMIT / 2, "::ffff:192.0.2.7");
    expect((await fail("::FFFF:C000:207")).status).toBe(429);
    expect((await fail("192.0.2.7")).status).toBe(429);
  });

  it("count together for a /64 block of IPv6 addresses", async () => {
    for (let host = 1; host <= LIMIT; host++) {
      expect((await fail(`2001:db8:1:2:${host.toString(16)}::1`)).status).toBe(401);
    }
    expect((await fail("2001:db8:1:2:ffff::abcd")).status).toBe(429);
    expect((await fail("2001:db8:1:3::1")).status).toBe(401);
  });

  it("survive a reload of the configuration", async () => {
    await failTimes(LIMIT + 1);
    gateway.writeHooks({ maxDepth: 32 });
    expect(await gateway.reload()).toMatchObject({ applied: true });
    expect((await fail()).status).toBe(429);
  });

  it("are remembered of a bounded number of addresses; when all are locked, a new one is answered 429", async () => {
    await using small = await RunningGateway.start({ ...SETUP, hooks: { lockout: { failures: 2, maxClients: 2 } } });
    const send = (credential: string, address: string) =>
      small.send({ headers: [credential, `X-Forwarded-For: ${address}`], body: WAKE });
    const statuses: number[] = [];
    for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2"]) {
      statuses.push((await send("Authorization: Bearer wrong", address)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401]);
    expect((await send("Authorization: Bearer wrong", "192.0.2.3")).status).toBe(429);
    expect((await send(AUTHORIZED, "192.0.2.3")).status).toBe(200);
  });
});

describe("the address that failures count for", () => {
  it("is the rightmost one that is no trusted proxy, whatever a client puts in front of it", async () => {
    for (let round = 0; round < LIMIT; round++) {
      expect((await fail(`203.0.113.${round}, 198.51.100.9, 10.1.2.3`)).status).toBe(401);
    }
    expect((await fail("203.0.113.99, 198.51.100.9, 10.9.9.9")).status).toBe(429);
    // Named on the left it is only what somebody claims.
    expect((await fail("198.51.100.9, 203.0.113.5")).status).toBe(401);
  });

  it("is taken from several headers in their order", async () => {
    const lines = ["X-Forwarded-For: 203.0.113.1", "X-Forwarded-For: 198.51.100.9"];
    for (let round = 0; round < LIMIT; round++) await gateway.send({ headers: lines, body: WAKE });
    expect((await fail("198.51.100.9")).status).toBe(429);
    expect((await fail("203.0.113.1")).status).toBe(401);
  });

  it("is the proxy's own when the header names no address", async () => {
    for (const hop of ["unknown", "_hidden", "999.1.1.1", "192.0.2.1, nonsense"]) await failTimes(LIMIT / 4, hop);
    expect((await gateway.send({ headers: ["Authorization: Bearer wrong"], body: WAKE })).status).toBe(429);
    expect((await fail("192.0.2.1")).status).toBe(401);
  });

  it("is the peer's where no proxy is trusted, whatever the header says", async () => {
    await using direct = await RunningGateway.start();
    const failFrom = (round: number) =>
      direct.send({ headers: ["Authorization: Bearer wrong", `X-Forwarded-For: 192.0.2.${round}`], body: WAKE });
    for (let round = 0; round < LIMIT; round++) expect((await failFrom(round)).status).toBe(401);
    expect((await failFrom(100)).status).toBe(429);
  });
});

describe("a method other than POST", () => {
  it.each(["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "QUERY"])(
    "is answered 405 with Allow: %s",
    async (method) => {
      const answer = await gateway.send({ method, headers: [`x-service-token: ${HOOK_TOKEN}`] });
      expect(answer.status).toBe(405);
      expect(answer.headers["allow"]).toBe("POST");
    },
  );

  it("costs no failed attempt, with any token or none", async () => {
    for (let round = 0; round <= LIMIT; round++) {
      const headers = round % 2 === 0 ? ["Authorization: Bearer wrong"] : [];
      const answer = await gateway.send({ method: "GET", headers: [...headers, `X-Forwarded-For: ${client}`] });
      expect(answer.status).toBe(405);
    }
    expect((await fail()).status).toBe(401);
  });

  it("is answered 405 before the token is checked, on every path below the prefix", async () => {
    for (const target of ["/hooks", "/hooks/", "/hooks/nothing", "/hooks/wake?a=1"]) {
      expect((await gateway.send({ method: "GET", target })).status).toBe(405);
    }
  });
});
