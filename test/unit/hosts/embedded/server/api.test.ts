import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, gatewayToken, GatewayFixture, hookToken, readApi } from "../gateway/fixture.ts";
import { RawConnection } from "./raw-connection.ts";

let fixture: GatewayFixture;
let gateway: EmbeddedGateway;

interface Delivery {
  readonly id: string;
  readonly state: string;
  readonly route: string;
  readonly name: string;
  readonly runs?: readonly { readonly state: string; readonly attempts: readonly { readonly status: string }[] }[];
}

beforeAll(async () => {
  fixture = new GatewayFixture({ ...baseConfig, gateway: { ...baseConfig.gateway, trustedProxies: ["127.0.0.1"] } });
  gateway = await fixture.start();
  for (const name of ["First", "Second", "Third"]) {
    await callHook(gateway, "/hooks/agent", { message: `From ${name}.`, name, wakeMode: "next-heartbeat" });
  }
  await callHook(gateway, "/hooks/wake", { text: "Wake up.", mode: "next-heartbeat" });
  await vi.waitFor(async () => {
    const { deliveries } = await json<{ deliveries: Delivery[] }>("deliveries");
    expect(deliveries.map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
  }, 15_000);
});

afterAll(async () => {
  await fixture.remove();
});

async function json<Body>(path: string, status = 200): Promise<Body> {
  const response = await readApi(gateway, path);
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  return (await response.json()) as Body;
}

interface ErrorBody {
  readonly ok: boolean;
  readonly error: string;
  readonly code: string;
}

describe("GET /health", () => {
  it("answers without a token, to GET and HEAD", async () => {
    const response = await fetch(`${gateway.url}/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ok: true });
    const head = await fetch(`${gateway.url}/health`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("takes no other method and has nothing below it", async () => {
    const response = await fetch(`${gateway.url}/health`, { method: "POST" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(`${gateway.url}/health/x`)).status).toBe(404);
  });
});

describe("GET /api/v1/deliveries", () => {
  it("lists deliveries, newest first, in pages", async () => {
    const all = await json<{ deliveries: Delivery[]; nextCursor: string | null }>("deliveries");
    expect(all.deliveries.map(({ name }) => name).slice(1)).toEqual(["Third", "Second", "First"]);
    expect(all.nextCursor).toBeNull();
    const first = await json<{ deliveries: Delivery[]; nextCursor: string }>("deliveries?limit=3");
    expect(first.deliveries).toEqual(all.deliveries.slice(0, 3));
    const rest = await json<{ deliveries: Delivery[] }>(
      `deliveries?limit=3&cursor=${encodeURIComponent(first.nextCursor)}`,
    );
    expect(rest.deliveries).toEqual(all.deliveries.slice(3));
  });

  it("filters by state and route", async () => {
    const wakes = await json<{ deliveries: Delivery[] }>("deliveries?route=wake&state=done");
    expect(wakes.deliveries.map(({ route }) => route)).toEqual(["wake"]);
    expect((await json<{ deliveries: Delivery[] }>("deliveries?state=failed")).deliveries).toEqual([]);
  });

  it("shows one delivery with its runs and attempts", async () => {
    const { deliveries } = await json<{ deliveries: Delivery[] }>("deliveries?route=agent&limit=1");
    const detail = await json<Delivery>(`deliveries/${deliveries[0]?.id}`);
    expect(detail).toMatchObject({ id: deliveries[0]?.id, state: "done", runs: [{ state: "done" }] });
    expect(detail.runs?.[0]?.attempts).toMatchObject([{ number: 1, status: "ok" }]);
  });

  it("answers 404 for a delivery that there is not", async () => {
    expect(await json<ErrorBody>("deliveries/dlv_none", 404)).toMatchObject({ ok: false, code: "NOT_FOUND" });
  });

  it("answers 400 to a query it cannot read, and says what it takes", async () => {
    for (const [query, words] of [
      ["limit=0", "limit must be a whole number from 1 to 200."],
      ["limit=201", "limit must be a whole number from 1 to 200."],
      ["limit=1.5", "limit must be"],
      ["limit=", "limit must be"],
      ["limit=1&limit=2", "limit is given more than once"],
      ["state=finished", "state must be one of filtered, skipped"],
      ["cursor=nonsense", "cursor is not one that this list gave out."],
      [
        "stat=done",
        'The query parameter "stat" is unknown; this path takes state, route, actor, level, chain, sender, since, until, text, open, limit, cursor.',
      ],
    ] as const) {
      const body = await json<ErrorBody>(`deliveries?${query}`, 400);
      expect(body).toMatchObject({ ok: false, code: "INVALID_QUERY" });
      expect(body.error).toContain(words);
    }
    expect((await json<ErrorBody>("deliveries/dlv_x?limit=1", 400)).error).toContain("this path takes none");
  });
});

describe("GET /api/v1/sessions", () => {
  it("lists sessions", async () => {
    const { sessions } = await json<{ sessions: { key: string }[] }>("sessions");
    expect(sessions.map(({ key }) => key)).toContain("agent:main:main");
  });

  it("shows a session's pending events and messages, its key escaped or not", async () => {
    for (const key of ["agent:main:main", "agent%3Amain%3Amain"]) {
      const { events } = await json<{ events: { text: string }[] }>(`sessions/${key}/events`);
      expect(events.some(({ text }) => text.includes("Wake up."))).toBe(true);
    }
    const { sessions } = await json<{ sessions: { key: string; messages: number }[] }>("sessions");
    const hook = sessions.find(({ messages }) => messages > 0);
    const { messages } = await json<{ messages: { role: string; text: string; time: string }[] }>(
      `sessions/${encodeURIComponent(hook?.key ?? "")}/messages`,
    );
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(messages[0]?.text).toContain("From ");
    expect(messages[0]?.time).toMatch(/^\d{4}-.*Z$/u);
  });

  it("lists a session's messages from either end", async () => {
    const { sessions } = await json<{ sessions: { key: string; messages: number }[] }>("sessions");
    const key = encodeURIComponent(sessions.find(({ messages }) => messages === 2)?.key ?? "");
    const roles = async (query: string): Promise<[roles: readonly string[], nextCursor: string | null]> => {
      const { messages, nextCursor } = await json<{ messages: { role: string }[]; nextCursor: string | null }>(
        `sessions/${key}/messages?${query}`,
      );
      return [messages.map(({ role }) => role), nextCursor];
    };
    expect(await roles("")).toEqual([["user", "assistant"], null]);
    expect(await roles("order=oldest")).toEqual([["user", "assistant"], null]);
    expect(await roles("order=newest")).toEqual([["assistant", "user"], null]);
    const [latest, cursor] = await roles("order=newest&limit=1");
    expect(latest).toEqual(["assistant"]);
    expect(await roles(`order=newest&limit=1&cursor=${cursor}`)).toEqual([["user"], null]);
    expect((await json<ErrorBody>("sessions/x/messages?order=desc", 400)).error).toBe(
      "order must be oldest or newest.",
    );
    expect((await json<ErrorBody>("sessions?order=newest", 400)).error).toContain("this path takes limit, cursor");
  });

  it("answers 400 to a key or cursor that cannot be read", async () => {
    expect((await json<ErrorBody>("sessions/%zz/events", 400)).error).toContain("percent sign");
    expect((await json<ErrorBody>("sessions/x/messages?cursor=a", 400)).error).toContain("cursor");
  });

  it("has nothing under other paths", async () => {
    for (const path of [
      "",
      "session",
      "sessions/x",
      "sessions/x/other",
      "sessions/x/events/y",
      "sessions//events",
      "outbox/x",
      "deliveries/x/y",
    ]) {
      expect(await json<ErrorBody>(path, 404)).toMatchObject({ code: "NOT_FOUND" });
    }
  });
});

describe("GET /api/v1/outbox", () => {
  it("shows what the console channel was given", async () => {
    const { messages } = await json<{ messages: { channel: string; text: string }[] }>("outbox?limit=2");
    expect(messages).toHaveLength(2);
    expect(messages[0]).toMatchObject({ channel: "console", state: "sent" });
  });
});

describe("the gateway token", () => {
  it("is required, in the Authorization header, and is not the hook token", async () => {
    for (const headers of [
      {},
      { Authorization: "Bearer wrong" },
      { Authorization: `Basic ${gatewayToken}` },
      { Authorization: `Bearer ${hookToken}` },
      { "x-service-token": gatewayToken },
    ]) {
      const response = await fetch(`${gateway.url}/api/v1/sessions`, { headers });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.json()).toMatchObject({ ok: false, code: "UNAUTHORIZED" });
    }
  });

  it("is asked for before anything of the path or the query is disclosed", async () => {
    for (const path of ["nothing", "deliveries?limit=0", ""]) {
      expect((await readApi(gateway, path, "wrong")).status).toBe(401);
    }
  });

  it("is not needed to learn that only GET and HEAD are taken, which costs no failure", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await fetch(`${gateway.url}/api/v1/sessions`, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
    const head = await fetch(`${gateway.url}/api/v1/sessions`, {
      method: "HEAD",
      headers: { Authorization: `Bearer ${gatewayToken}` },
    });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("can be guessed at 20 times from an address, which is then locked; the right one still passes", async () => {
    const guess = async (address: string, token: string): Promise<Response> =>
      await fetch(`${gateway.url}/api/v1/sessions`, {
        headers: { "X-Forwarded-For": address, Authorization: `Bearer ${token}` },
      });
    for (let failure = 0; failure < 20; failure++) expect((await guess("198.51.100.7", "wrong")).status).toBe(401);
    const locked = await guess("198.51.100.7", "wrong");
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await locked.json()).toMatchObject({ ok: false, code: "TOO_MANY_FAILURES" });
    expect((await guess("198.51.100.8", "wrong")).status).toBe(401);
    expect((await guess("198.51.100.7", gatewayToken)).status).toBe(200);
  });

  it("is not accepted from a request with two Authorization headers", async () => {
    const connection = await RawConnection.open(Number(new URL(gateway.url).port));
    const header = `Authorization: Bearer ${gatewayToken}\r\n`;
    connection.send(`GET /api/v1/sessions HTTP/1.1\r\nHost: x\r\n${header}${header}\r\n`);
    expect(await connection.answers(1)).toMatch(/^HTTP\/1\.1 40[01]/u);
    connection.destroy();
  });
});

describe("PUT /api/v1/sessions/<key>/route", () => {
  const put = (path: string, body: string, token = gatewayToken): Promise<Response> =>
    fetch(`${gateway.url}/api/v1/${path}`, { method: "PUT", body, headers: { authorization: `Bearer ${token}` } });

  it("spec 2.3: sets the last recipient in the main session, to which a call without channel is delivered", async () => {
    expect(await json("sessions/main/route")).toEqual({ route: null });
    const set = await put("sessions/agent%3Amain%3Amain/route", '{"channel":"console","to":"ada"}');
    expect([set.status, await set.json()]).toEqual([200, { route: { channel: "console", to: "ada" } }]);
    expect(await json("sessions/main/route")).toEqual({ route: { channel: "console", to: "ada" } });
    await callHook(gateway, "/hooks/agent", { message: "For the last recipient.", wakeMode: "next-heartbeat" });
    await vi.waitFor(async () => {
      const { messages } = await json<{ messages: { to: string }[] }>("outbox");
      expect(messages[0]?.to).toBe("ada");
    }, 10_000);
  });

  it.each([
    ['{"channel":"pigeon","to":"ada"}', "channel must be one of console."],
    ['{"channel":"console","to":" "}', "to must be a string of 1 to 1000 characters."],
    ['{"channel":"console"}', "to must be a string of 1 to 1000 characters."],
    ["nothing", 'The body must be JSON: { "channel": ..., "to": ... }.'],
    [JSON.stringify("x".repeat(20_000)), 'The body must be JSON: { "channel": ..., "to": ... }.'],
  ])("refuses %j", async (body, error) => {
    const response = await put("sessions/main/route", body);
    expect([response.status, await response.json()]).toEqual([400, { ok: false, error, code: "INVALID_QUERY" }]);
  });

  it("needs the gateway token, a main session, and no other method", async () => {
    expect((await put("sessions/main/route", "{}", "wrong")).status).toBe(401);
    expect((await put("sessions/hook%3Ax/route", '{"channel":"console","to":"ada"}')).status).toBe(404);
    expect((await readApi(gateway, "sessions/hook%3Ax/route")).status).toBe(404);
    const response = await fetch(`${gateway.url}/api/v1/sessions/main/route`, { method: "DELETE" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT"]);
  });
});

describe("a session key", () => {
  it("may be written short, and then means the default agent's session", async () => {
    const short = await json<{ messages: object[] }>("sessions/main/messages");
    expect(short).toEqual(await json("sessions/agent%3Amain%3Amain/messages"));
  });
});
