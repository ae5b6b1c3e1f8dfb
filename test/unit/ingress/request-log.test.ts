import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebhookIngress } from "../../../src/ingress/plugin.ts";
import { RequestFacts, RequestLog } from "../../../src/ingress/request-log.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";
import { createHmac } from "node:crypto";
import { AGENT_CALL, IngressHost, TOKEN } from "./ingress-host.ts";

const SOON = { timeout: 15_000, interval: 5 };
const SECRET = "the-secret-that-github-signs-with";

describe("RequestLog", () => {
  function logged() {
    const logger = recordingLogger();
    const clock = { time: 0, now: () => clock.time };
    const log = new RequestLog({ logger, clock });
    const end = (facts: Partial<RequestFacts>, status: number, headers = {}): void =>
      log.end(Object.assign(new RequestFacts(), facts), { headers }, status);
    return { logger, clock, log, end };
  }

  it("warns of failed authentication and of the gateway's failures; other refusals are for information", () => {
    const { logger, end } = logged();
    end({ code: "UNAUTHORIZED" }, 401);
    end({ code: "TOO_MANY_FAILURES" }, 429);
    end({ code: "QUEUE_FULL" }, 503);
    end({ code: "TRANSFORM_FAILED" }, 500);
    end({ code: "NOT_FOUND" }, 404);
    end({ code: "INVALID_JSON" }, 400);
    end({ state: "queued" }, 202);
    const levels = logger.lines.map(({ level }) => level);
    expect(levels).toEqual(["warn", "warn", "warn", "warn", "info", "info", "info"]);
  });

  it("counts refusals of one kind from one address; another address, route or code has a line of its own", () => {
    const { logger, clock, end } = logged();
    const refusal = { code: "UNAUTHORIZED", route: "agent", client: "203.0.113.1" } as const;
    for (let count = 0; count < 5; count++) end(refusal, 401);
    end({ ...refusal, client: "203.0.113.2" }, 401);
    end({ ...refusal, route: "wake" }, 401);
    end({ ...refusal, code: "INVALID_JSON" }, 400);
    expect(logger.lines).toHaveLength(4);
    clock.time = 10_000;
    end(refusal, 401);
    expect(logger.lines.at(-1)).toMatchObject({ message: "request", fields: { suppressed: 4, code: "UNAUTHORIZED" } });
  });

  it("takes the addresses of one IPv6 network for one", () => {
    const { logger, end } = logged();
    for (const host of [1, 2, 3]) end({ code: "UNAUTHORIZED", client: `2001:db8::${host}` }, 401);
    expect(logger.lines).toHaveLength(1);
  });

  it("never suppresses accepted calls", () => {
    const { logger, end } = logged();
    for (let count = 0; count < 5; count++) end({ state: "queued", route: "agent" }, 202);
    expect(logger.lines).toHaveLength(5);
  });

  it("flushes what it has counted", () => {
    const { logger, log, end } = logged();
    for (let count = 0; count < 3; count++) end({ code: "UNAUTHORIZED", route: "wake", client: "203.0.113.1" }, 401);
    log.flush();
    expect(logger.lines.at(-1)).toMatchObject({
      level: "warn",
      fields: { code: "UNAUTHORIZED", route: "wake", client: "203.0.113.1", suppressed: 2 },
      message: "requests suppressed in the log",
    });
  });

  it("bounds the user agent", () => {
    const { logger, end } = logged();
    end({ code: "UNAUTHORIZED" }, 401, { "user-agent": "x".repeat(5_000) });
    expect(logger.lines[0]?.fields["userAgent"]).toHaveLength(200);
  });

  it("has nothing by which a stranger steers a terminal", () => {
    const { logger, end } = logged();
    end({ code: "UNAUTHORIZED" }, 401, { "user-agent": "a\u009B2Jb\u0085c" });
    expect(logger.lines[0]?.fields["userAgent"]).toBe("a 2Jb c");
  });
});

describe("the line of a request", () => {
  let fixture: IngressHost;
  beforeEach(async () => {
    fixture = await IngressHost.listen();
    new WebhookIngress({ openStore: fixture.openStore }).apply(fixture.host);
    await fixture.load({
      presets: ["github"],
      github: { secret: SECRET },
      mappings: [{ id: "chat", match: { path: "chat" }, when: "payload.take == true", messageTemplate: "{{text}}" }],
    });
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  async function request(path: string, init: RequestInit = {}) {
    const before = requests().length;
    const response = await fetch(`http://127.0.0.1:${fixture.port}${path}`, { method: "POST", ...init });
    await vi.waitFor(() => expect(requests()).toHaveLength(before + 1), SOON);
    const { level, fields } = requests()[before]!;
    return { level, fields, status: response.status, text: await response.text() };
  }
  const requests = () => fixture.logger.lines.filter(({ message }) => message === "request");
  const authorized = { authorization: `Bearer ${TOKEN}` };

  it("says what was accepted, from where and how fast", async () => {
    const { level, fields, text } = await request("/hooks/agent?secretQuery=1", {
      headers: authorized,
      body: JSON.stringify(AGENT_CALL),
    });
    const { deliveryId } = JSON.parse(text) as { deliveryId: string };
    expect(level).toBe("info");
    expect(fields).toEqual({
      id: deliveryId,
      route: "agent",
      state: "queued",
      status: 202,
      client: "127.0.0.1",
      ms: expect.any(Number) as number,
    });
  });

  it("has the state of a call that was filtered", async () => {
    const { level, fields } = await request("/hooks/chat", { headers: authorized, body: '{"text":"a"}' });
    expect(level).toBe("info");
    expect(fields).toMatchObject({ route: "chat", state: "filtered", status: 200, id: expect.any(String) as string });
  });

  it("warns of a wrong token with the user agent, and without the token and the query", async () => {
    const { level, fields } = await request("/hooks/agent?q=private", {
      headers: { authorization: "Bearer wrong-token", "user-agent": "probe/1" },
      body: "{}",
    });
    expect(level).toBe("warn");
    expect(fields).toMatchObject({ route: "agent", status: 401, code: "UNAUTHORIZED", userAgent: "probe/1" });
    expect(JSON.stringify(fixture.logger.lines)).not.toMatch(/wrong-token|private/u);
  });

  it.each<[string, Record<string, string>]>([
    ["there is no token", {}],
    ["the token in authorization is wrong", { authorization: "Bearer wrong" }],
    ["authorization holds no bearer token", { authorization: "Basic d3Jvbmc=" }],
    ["the token in x-service-token is wrong", { "x-service-token": "wrong" }],
    ["the token in x-openclaw-token is wrong", { "x-openclaw-token": "wrong" }],
  ])("names the cause of a refused token, and not what was sent: %s", async (reason, headers) => {
    const { fields } = await request("/hooks/agent", { headers, body: "{}" });
    expect(fields).toMatchObject({ status: 401, code: "UNAUTHORIZED", reason });
  });

  it.each(["/hooks/a-path-secret", "/hooks/gone/a-path-secret"])(
    "names no route for %s: a path that no route has may be a secret",
    async (path) => {
      const { fields } = await request(path, { body: "{}" });
      expect(fields).toMatchObject({ route: "unknown", code: "UNAUTHORIZED" });
      expect(JSON.stringify(fixture.logger.lines)).not.toContain("a-path-secret");
    },
  );

  it("says why a signature failed, and whose it should have been; the caller does not learn it", async () => {
    const { level, fields, text } = await request("/hooks/github", {
      headers: { "x-hub-signature-256": "sha256=00", "content-type": "application/json" },
      body: "{}",
    });
    expect(level).toBe("warn");
    expect(fields).toMatchObject({ route: "github", sender: "github", status: 401, code: "UNAUTHORIZED" });
    expect(String(fields["reason"])).toMatch(/signature/u);
    expect(text).not.toContain(String(fields["reason"]));
  });

  it("has the sender and the actor of a signed call", async () => {
    const body = JSON.stringify({
      action: "opened",
      sender: { login: "octocat", type: "User" },
      repository: { full_name: "a/b" },
      issue: { number: 1, title: "t", user: { login: "octocat" } },
    });
    const { fields } = await request("/hooks/github", {
      headers: {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": "d-1",
        "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
      },
      body,
    });
    expect(fields).toMatchObject({ route: "github", sender: "github", actor: "octocat" });
  });

  it("is there for a method that is refused, and for a request at the time of a shutdown", async () => {
    const refused = await request("/hooks/agent", { method: "PUT" });
    expect(refused).toMatchObject({ level: "info", fields: { code: "METHOD_NOT_ALLOWED", status: 405 } });
    await fixture.shutdown(0);
    const late = await request("/hooks/agent", { headers: authorized, body: "{}" });
    expect(late).toMatchObject({ level: "warn", fields: { code: "SHUTTING_DOWN", client: "127.0.0.1" } });
  });

  it("flushes the counts of suppressed lines at the shutdown", async () => {
    await request("/hooks/agent", { body: "{}" });
    for (let count = 0; count < 2; count++) {
      await fetch(`http://127.0.0.1:${fixture.port}/hooks/agent`, { method: "POST", body: "{}" });
    }
    await fixture.shutdown(0);
    const flushed = fixture.logger.lines.find(({ message }) => message === "requests suppressed in the log");
    expect(flushed?.fields).toMatchObject({ code: "UNAUTHORIZED", suppressed: 2 });
  });
});
