import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compileCheckToken } from "../../../src/auth/check-token.ts";
import { compileClientAddress } from "../../../src/auth/client-address.ts";
import { Lockout } from "../../../src/auth/lockout.ts";
import { compileTokens } from "../../../src/auth/token.ts";
import { isRefusal } from "../../../src/core/errors.ts";
import { answerRefusal } from "../../../src/http/answer.ts";
import { sendAnswer } from "../../../src/http/send-answer.ts";
import { listen } from "../http/wire.ts";
import type { Listening } from "../http/wire.ts";

const TOKEN = "correct-horse-battery-staple-0123";
const LOCKOUT = { failures: 20, windowMs: 60_000, lockMs: 60_000, maxClients: 100 };
const clock = { nowMs: 0, now: () => clock.nowMs };

let server: Listening;
beforeEach(async () => {
  clock.nowMs = 1_000_000;
  const clientAddress = compileClientAddress(["127.0.0.1"]);
  const authenticate = compileCheckToken({
    tokens: compileTokens([TOKEN], { tokenHeader: "x-service-token" }),
    lockout: new Lockout(LOCKOUT, { clock }),
  });
  server = await listen((req, res) => {
    const forwarded = req.headers["x-forwarded-for"] as string | undefined;
    const result = authenticate(req, clientAddress(req.socket.remoteAddress, forwarded));
    if (isRefusal(result)) sendAnswer(req, res, answerRefusal(result));
    else res.end(result.id);
  });
});
afterEach(() => server.close());

function call(token: string | undefined, from: string, headers: Record<string, string> = {}): Promise<Response> {
  const bearer = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  return fetch(`http://127.0.0.1:${server.port}/`, {
    method: "POST",
    headers: { "x-forwarded-for": from, ...bearer, ...headers },
    body: "{}",
  });
}

async function failFrom(addresses: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const address of addresses) statuses.push((await call("wrong", address)).status);
  return statuses;
}

describe("spec 5.4: on authentication failure the status is 401", () => {
  test("spec 5.4: a missing, a malformed, a wrong and a doubled token get one and the same answer", async () => {
    const answers = await Promise.all([
      call(undefined, "192.0.2.1"),
      call("wrong", "192.0.2.1"),
      call(undefined, "192.0.2.1", { authorization: "Basic dTpw" }),
      call("", "192.0.2.1"),
      call("wrong", "192.0.2.1", { "x-service-token": TOKEN }),
    ]);
    const seen = await Promise.all(
      answers.map(async (answer) => [answer.status, answer.headers.get("www-authenticate"), await answer.text()]),
    );
    expect(new Set(seen.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(seen[0]).toEqual([401, "Bearer", expect.stringContaining('"code":"UNAUTHORIZED"')]);
  });

  test("spec 5.1: a right token gives the credential", async () => {
    const answer = await call(TOKEN, "192.0.2.1");
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe("spec 5.5: repeated failures from the same client address", () => {
  test("spec 5.5: after repeated failures the status is 429 with a Retry-After header", async () => {
    expect(await failFrom(Array.from({ length: 20 }, () => "192.0.2.1"))).toEqual(
      Array.from({ length: 20 }, () => 401),
    );
    const locked = await call("wrong", "192.0.2.1");
    expect(locked.status).toBe(429);
    expect(locked.headers.get("retry-after")).toBe("60");
    expect(await locked.json()).toMatchObject({ ok: false, code: "TOO_MANY_FAILURES" });
  });

  test("spec 5.5: another address is not locked", async () => {
    await failFrom(Array.from({ length: 21 }, () => "192.0.2.1"));
    expect((await call("wrong", "192.0.2.2")).status).toBe(401);
  });

  test("the right token is accepted while the address is locked, and unlocks it", async () => {
    await failFrom(Array.from({ length: 21 }, () => "192.0.2.1"));
    expect((await call(TOKEN, "192.0.2.1")).status).toBe(200);
    expect((await call("wrong", "192.0.2.1")).status).toBe(401);
  });

  test("a success of one address does not unlock another", async () => {
    await failFrom(Array.from({ length: 21 }, () => "192.0.2.1"));
    expect((await call(TOKEN, "192.0.2.2")).status).toBe(200);
    expect((await call("wrong", "192.0.2.1")).status).toBe(429);
  });

  test("the lock ends after 60 seconds", async () => {
    await failFrom(Array.from({ length: 21 }, () => "192.0.2.1"));
    clock.nowMs += 60_000;
    expect((await call("wrong", "192.0.2.1")).status).toBe(401);
  });

  test("IPv4 and its IPv4-mapped IPv6 form are one address", async () => {
    await failFrom(Array.from({ length: 20 }, (_, index) => (index % 2 ? "192.0.2.1" : "::ffff:192.0.2.1")));
    expect((await call("wrong", "192.0.2.1")).status).toBe(429);
  });

  test("addresses of one IPv6 /64 block are one", async () => {
    await failFrom(Array.from({ length: 20 }, (_, index) => `2001:db8:0:1::${index}`));
    expect((await call("wrong", "2001:db8:0:1:ffff::1")).status).toBe(429);
    expect((await call("wrong", "2001:db8:0:2::1")).status).toBe(401);
  });

  test("changing the leftmost hop does not evade the lock", async () => {
    await failFrom(Array.from({ length: 20 }, (_, index) => `198.51.100.${index}, 192.0.2.1`));
    expect((await call("wrong", "198.51.100.99, 192.0.2.1")).status).toBe(429);
  });
});
