import { createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RunningGateway } from "./running-gateway.ts";
import { call, hmac } from "./sender-calls.ts";

const SECRET = "secret-of-the-own-auth-tests-77";
const JSON_TYPE = { "content-type": "application/json" };

/** A gateway whose path `in` has that `auth`. */
function startWith(auth: object, { mapping = {}, hooks = {} }: { mapping?: object; hooks?: object } = {}) {
  const own = {
    match: { path: "in" },
    auth: { secret: SECRET, ...auth },
    messageTemplate: "It is {{a}}.",
    deliver: false,
  };
  return RunningGateway.start({ hooks: { ...hooks, mappings: [{ ...own, ...mapping }] } });
}

/** True when the text is in no log line and no file of the state directory. */
function isNowhere(gateway: RunningGateway, text: string): boolean {
  const state = join(gateway.folder, "state");
  const files = readdirSync(state).map((name) => readFileSync(join(state, name)));
  return !JSON.stringify(gateway.logger.lines).includes(text) && !files.some((file) => file.includes(text));
}

describe("an auth that the operator wrote", () => {
  it("verifies a signature over time and body, within the tolerance that it says", async () => {
    await using gateway = await startWith({
      from: "header:x-acme-signature",
      pair: "sig",
      algorithm: "hmac-sha512",
      encoding: "base64",
      content: "{timestamp}|{body}",
      timestamp: { from: "pair:at", unit: "milliseconds", toleranceSeconds: 60 },
    });
    const post = (body: string, at: number) => {
      const signature = createHmac("sha512", SECRET).update(`${at}|${body}`).digest("base64");
      const headers = { ...JSON_TYPE, "x-acme-signature": `at=${at},sig=${signature}` };
      return call(gateway, "/hooks/in", { headers, body });
    };
    expect((await post('{"a":1}', Date.now())).status).toBe(202);
    expect((await post('{"a":2}', Date.now() - 61_000)).status).toBe(401);
    expect((await post('{"a":3}', Date.now() + 62_000)).status).toBe(401);
  });

  it("takes a secret out of the path, which is stored and logged without it", async () => {
    await using gateway = await startWith({ scheme: "secret", from: "path" });
    const post = (path: string) => call(gateway, path, { headers: JSON_TYPE, body: '{"a":1}' });
    const answer = await post(`/hooks/in/${SECRET}`);
    expect(answer.status).toBe(202);
    expect(await gateway.delivery(answer.body["deliveryId"])).toMatchObject({ route: "in" });
    for (const path of ["/hooks/in/wrong", "/hooks/in", `/hooks/${SECRET}`, `/hooks/in/x/${SECRET}`]) {
      expect((await post(path)).status).toBe(401);
    }
    expect(isNowhere(gateway, SECRET)).toBe(true);
  });

  it("takes the hook token for no secret of the path, however many segments the path has", async () => {
    for (const path of ["in", "team/acme"]) {
      await using gateway = await startWith({ scheme: "secret", from: "path" }, { mapping: { match: { path } } });
      expect((await gateway.post(`/hooks/${path}`, '{"a":1}')).status).toBe(401);
      expect(await gateway.deliveries()).toEqual([]);
      const withSecret = await call(gateway, `/hooks/${path}/${SECRET}`, { headers: JSON_TYPE, body: '{"a":1}' });
      expect(withSecret.status).toBe(202);
    }
  });

  it("takes a secret out of the query, a header or the body, and keeps it from templates and the store", async () => {
    const places: [string, (gateway: RunningGateway) => ReturnType<typeof call>][] = [
      ["query:key", (g) => call(g, `/hooks/in?key=${SECRET}&a=1`, { headers: JSON_TYPE, body: '{"a":1}' })],
      ["header:x-acme", (g) => call(g, "/hooks/in", { headers: { ...JSON_TYPE, "x-acme": SECRET }, body: '{"a":1}' })],
      ["body:key", (g) => call(g, "/hooks/in", { headers: JSON_TYPE, body: JSON.stringify({ a: 1, key: SECRET }) })],
    ];
    for (const [from, post] of places) {
      const messageTemplate = "{{a}} {{key}} {{query.key}} {{headers.x-acme}}";
      await using gateway = await startWith({ scheme: "secret", from }, { mapping: { messageTemplate } });
      expect((await post(gateway)).status).toBe(202);
      expect((await call(gateway, "/hooks/in", { headers: JSON_TYPE, body: '{"a":1}' })).status).toBe(401);
      expect(isNowhere(gateway, SECRET)).toBe(true);
    }
  });

  it("finds its secret in a body as deep as hooks.maxDepth allows, and refuses a deeper one for its depth", async () => {
    const hooks = { maxDepth: 200, lockout: { failures: 1 } };
    await using gateway = await startWith({ scheme: "secret", from: "body:key" }, { hooks });
    const post = (key: string, depth: number) =>
      call(gateway, "/hooks/in", {
        headers: JSON_TYPE,
        body: `{"key":"${key}","a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`,
      });
    expect((await post(SECRET, 200)).status).toBe(202);
    const tooDeep = await post(SECRET, 201);
    expect([tooDeep.status, tooDeep.body["code"]]).toEqual([400, "TOO_DEEP"]);
    expect((await post("wrong", 200)).status).toBe(401);
  });

  it("takes user name and password", async () => {
    await using gateway = await startWith({ scheme: "basic", username: "hooks" });
    const post = (pair: string) =>
      call(gateway, "/hooks/in", {
        headers: { ...JSON_TYPE, authorization: `Basic ${Buffer.from(pair).toString("base64")}` },
        body: '{"a":1}',
      });
    expect((await post(`hooks:${SECRET}`)).status).toBe(202);
    expect((await post(`other:${SECRET}`)).status).toBe(401);
  });

  it("goes by the public URL of the configuration, not by the Host header", async () => {
    const hooks = { publicUrl: "https://gateway.example.com/base" };
    await using gateway = await startWith({ from: "header:x-signature", content: "{method}{url}{body}" }, { hooks });
    const post = (url: string) =>
      call(gateway, "/hooks/in?b=2", {
        headers: { ...JSON_TYPE, "x-signature": hmac(SECRET, `POST${url}{"a":1}`) },
        body: '{"a":1}',
      });
    expect((await post("https://gateway.example.com/base/hooks/in?b=2")).status).toBe(202);
    expect((await post(`${gateway.url}/hooks/in?b=2`)).status).toBe(401);
  });

  it("may bring events by PUT where the mapping says so", async () => {
    await using gateway = await startWith({ from: "header:x-signature" }, { mapping: { methods: ["PUT"] } });
    const headers = { ...JSON_TYPE, "x-signature": hmac(SECRET, '{"a":1}') };
    expect((await call(gateway, "/hooks/in", { method: "PUT", headers, body: '{"a":1}' })).status).toBe(202);
    const other = await call(gateway, "/hooks/in", { method: "PATCH", headers, body: '{"a":1}' });
    expect([other.status, other.headers.get("allow")]).toEqual([405, "POST, PUT"]);
  });

  it("may bring a handshake with it", async () => {
    const handshakes = [
      {
        name: "check",
        method: "GET",
        verified: false,
        when: { "query:check": true },
        reply: { status: 200, text: "{query:check}" },
      },
    ];
    await using gateway = await startWith({ from: "header:x-signature" }, { mapping: { handshakes } });
    const answer = await call(gateway, "/hooks/in?check=abc", { method: "GET" });
    expect([answer.status, answer.text]).toEqual([200, "abc"]);
    expect((await call(gateway, "/hooks/in", { method: "GET" })).status).toBe(401);
  });

  it("answers a signed question of another method, and takes no event with it", async () => {
    const handshakes = [
      {
        name: "check",
        method: "GET",
        verified: true,
        when: { "query:check": true },
        reply: { status: 200, text: "{query:check}" },
      },
    ];
    await using gateway = await startWith(
      { from: "header:x-signature", content: "{path}" },
      { mapping: { handshakes } },
    );
    const headers = { "x-signature": hmac(SECRET, "/hooks/in") };
    const answer = await call(gateway, "/hooks/in?check=abc", { method: "GET", headers });
    expect([answer.status, answer.text]).toEqual([200, "abc"]);
    expect((await call(gateway, "/hooks/in?check=abc", { method: "GET" })).status).toBe(401);
    const other = await call(gateway, "/hooks/in", { method: "GET", headers });
    expect([other.status, other.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await gateway.deliveries()).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ["without a secret", { secret: undefined }, /hooks\.mappings\[0\]\.auth\.secret: is required/u],
    ["with a short secret", { secret: "short" }, /hooks\.mappings\[0\]\.auth\.secret: .*openssl rand/u],
    [
      "with a secret that everybody knows",
      { secret: "It's a Secret to Everybody" },
      /hooks\.mappings\[0\]\.auth\.secret: /u,
    ],
    ["that signs a URL which nobody knows", { content: "{url}{body}" }, /hooks\.publicUrl/u],
    ["with a content that means nothing", { content: "{bodi}" }, /hooks\.mappings\[0\]\.auth\.content: .*bodi/u],
  ])("is refused at load %s", async (_case, changes, message) => {
    await expect(startWith({ from: "header:x-signature", ...changes })).rejects.toThrow(message);
  });
});
