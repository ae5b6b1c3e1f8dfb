import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RunningGateway } from "./running-gateway.ts";
import { call, hmac } from "./sender-calls.ts";

const SECRET = "secret-of-the-handshake-tests-91";
const JSON_TYPE = { "content-type": "application/json" };
const start = (hooks: object) => RunningGateway.start({ hooks });
const seconds = () => String(Math.floor(Date.now() / 1_000));

describe("a handshake", () => {
  it("of Slack is answered with the challenge once its signature is verified, and reaches no agent", async () => {
    await using gateway = await start({ presets: ["slack"], slack: { secret: SECRET } });
    const body = JSON.stringify({ type: "url_verification", token: "x", challenge: "3eZbrw1aB10" });
    const ts = seconds();
    const headers = { ...JSON_TYPE, "x-slack-request-timestamp": ts };
    const signed = { ...headers, "x-slack-signature": `v0=${hmac(SECRET, `v0:${ts}:${body}`)}` };
    const answer = await call(gateway, "/hooks/slack", { headers: signed, body });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("3eZbrw1aB10");
    expect((await call(gateway, "/hooks/slack", { headers, body })).status).toBe(401);
    expect(await gateway.deliveries()).toEqual([]);
  });

  it("of Slack without a signature is ssl_check alone, and whatever comes with it is dropped", async () => {
    await using gateway = await start({ presets: ["slack"], slack: { secret: SECRET } });
    const post = (body: string) =>
      call(gateway, "/hooks/slack", { headers: { "content-type": "application/x-www-form-urlencoded" }, body });
    expect((await post("ssl_check=1&token=x")).status).toBe(200);
    expect((await post("ssl_check=0&text=hello")).status).toBe(401);
    expect((await post("command=/run&text=hello")).status).toBe(401);
    expect(await gateway.deliveries()).toEqual([]);
  });

  it("of Meta is a GET, answered only with the verify token that was agreed", async () => {
    await using gateway = await start({ presets: ["meta"], meta: { secret: SECRET, verifyToken: "agreed-before-91" } });
    const get = (token: string) =>
      call(gateway, `/hooks/meta?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1158201444`, {
        method: "GET",
      });
    const answer = await get("agreed-before-91");
    expect([answer.status, answer.text]).toEqual([200, "1158201444"]);
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/u);
    expect((await get("guessed")).status).toBe(401);
    expect((await call(gateway, "/hooks/meta", { method: "DELETE" })).headers.get("allow")).toBe("POST, GET");
  });

  it("of Dropbox is a GET with a challenge, and the next notification of an account is none of its copies", async () => {
    await using gateway = await start({ presets: ["dropbox"], dropbox: { secret: SECRET } });
    const answer = await call(gateway, "/hooks/dropbox?challenge=abc-123", { method: "GET" });
    expect([answer.status, answer.text]).toEqual([200, "abc-123"]);
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/u);
    expect((await call(gateway, "/hooks/dropbox?challenge=a&other=b", { method: "GET" })).status).toBe(401);
    const body = JSON.stringify({ list_folder: { accounts: ["dbid:A"] } });
    const headers = { ...JSON_TYPE, "x-dropbox-signature": hmac(SECRET, body) };
    for (let times = 0; times < 2; times++) {
      expect((await call(gateway, "/hooks/dropbox", { headers, body })).status).toBe(200);
    }
    expect(await gateway.deliveries()).toHaveLength(2);
  });

  it("of monday.com is a challenge alone; a call needs the secret in the path", async () => {
    await using gateway = await start({ presets: ["monday"], monday: { secret: SECRET } });
    const post = (path: string, payload: object) =>
      call(gateway, path, { headers: JSON_TYPE, body: JSON.stringify(payload) });
    const answer = await post(`/hooks/monday/${SECRET}`, { challenge: "3eZbrw1aBm2rZgRN" });
    expect([answer.status, answer.body]).toEqual([200, { challenge: "3eZbrw1aBm2rZgRN" }]);
    const event = { type: "create_pulse", pulseId: 1, userId: 2, triggerUuid: "t1" };
    expect((await post(`/hooks/monday/${SECRET}`, { event })).status).toBe(200);
    expect((await post("/hooks/monday/another-secret-of-this-length-00", { event })).status).toBe(401);
    expect((await post("/hooks/monday", { event, challenge: "x" })).status).toBe(401);
    expect(await gateway.deliveries()).toHaveLength(1);
  });

  it("of WooCommerce is a form with the id of the webhook, which no secret signs", async () => {
    await using gateway = await start({ presets: ["woocommerce"], woocommerce: { secret: SECRET } });
    const post = (body: string) =>
      call(gateway, "/hooks/woocommerce", { headers: { "content-type": "application/x-www-form-urlencoded" }, body });
    expect((await post("webhook_id=142")).status).toBe(200);
    expect((await post("webhook_id=142&id=727")).status).toBe(401);
    expect(await gateway.deliveries()).toEqual([]);
  });

  it("of X is a GET that proves the secret", async () => {
    await using gateway = await start({ presets: ["x"], x: { secret: SECRET } });
    const answer = await call(gateway, "/hooks/x?crc_token=abc", { method: "GET" });
    expect(answer.body).toEqual({ response_token: `sha256=${hmac(SECRET, "abc", "base64")}` });
  });

  it("of Discord is a PING, and a signature that is wrong is answered 401", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const secret = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
    await using gateway = await start({
      presets: ["discord-interactions", "discord-events"],
      "discord-interactions": { secret },
      "discord-events": { secret },
    });
    const post = (path: string, body: string, tamper = "") => {
      const ts = seconds();
      const signature = sign(undefined, Buffer.from(ts + body), privateKey).toString("hex");
      const headers = { ...JSON_TYPE, "x-signature-ed25519": signature, "x-signature-timestamp": ts };
      return call(gateway, path, { headers, body: body + tamper });
    };
    expect((await post("/hooks/discord-interactions", '{"type":1}')).body).toEqual({ type: 1 });
    expect((await post("/hooks/discord-interactions", '{"type":1}', " ")).status).toBe(401);
    const event = await post("/hooks/discord-events", '{"version":1,"application_id":"1","type":0}');
    expect([event.status, event.text]).toEqual([204, ""]);
    expect(await gateway.deliveries()).toEqual([]);
  });

  it("of Microsoft Graph is answered with the token as plain text, and its secret is stored nowhere", async () => {
    await using gateway = await start({ presets: ["microsoft-graph"], "microsoft-graph": { secret: SECRET } });
    const answer = await call(gateway, "/hooks/microsoft-graph?validationToken=Validation%3A%20Test");
    expect([answer.status, answer.text]).toEqual([200, "Validation: Test"]);
    const change = {
      value: [{ subscriptionId: "s", clientState: SECRET, changeType: "created", resource: "Users/1/Messages/2" }],
    };
    const body = JSON.stringify(change);
    expect((await call(gateway, "/hooks/microsoft-graph", { headers: JSON_TYPE, body })).status).toBe(202);
    const wrong = body.replace(SECRET, "wrong");
    expect((await call(gateway, "/hooks/microsoft-graph", { headers: JSON_TYPE, body: wrong })).status).toBe(401);
    expect(await gateway.deliveries()).toHaveLength(1);
    const state = join(gateway.folder, "state");
    for (const name of ["reveille.sqlite", "reveille.sqlite-wal"]) {
      expect(readFileSync(join(state, name)).includes(SECRET)).toBe(false);
    }
  });

  it("of CloudEvents is OPTIONS, answered with who may send", async () => {
    await using gateway = await start({ presets: ["cloudevents"], cloudevents: { secret: SECRET } });
    const answer = await call(gateway, "/hooks/cloudevents", {
      method: "OPTIONS",
      headers: { "webhook-request-origin": "events.example.com" },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("webhook-allowed-origin")).toMatch(/events\.example\.com|\*/u);
  });

  it("of Trello is HEAD, answered 200 without a body", async () => {
    await using gateway = await start({
      publicUrl: "https://gateway.example.com",
      presets: ["trello"],
      trello: { secret: SECRET },
    });
    const answer = await call(gateway, "/hooks/trello", { method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([200, ""]);
  });
});

describe("a key that the sender delivers", () => {
  const token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl";
  const deliver = (gateway: RunningGateway, key: string) =>
    call(gateway, "/hooks/notion", { headers: JSON_TYPE, body: JSON.stringify({ verification_token: key }) });
  const event = (gateway: RunningGateway, id: string, key = token) => {
    const body = JSON.stringify({ id, type: "page.created", entity: { id: "p1", type: "page" } });
    const headers = { ...JSON_TYPE, "x-notion-signature": `sha256=${hmac(key, body)}` };
    return call(gateway, "/hooks/notion", { headers, body });
  };

  it("is taken once, kept for the owner alone, and verifies the calls that follow, also after a restart", async () => {
    await using gateway = await start({ presets: ["notion"] });
    expect((await event(gateway, "e0")).status).toBe(401);
    expect((await deliver(gateway, token)).status).toBe(200);
    expect((await event(gateway, "e1")).status).toBeLessThan(300);
    expect((await deliver(gateway, "secret_of_an_attacker_1234567890")).status).toBe(401);
    expect((await event(gateway, "e2", "secret_of_an_attacker_1234567890")).status).toBe(401);
    await gateway.restart();
    expect((await event(gateway, "e3")).status).toBeLessThan(300);
    expect(statSync(join(gateway.folder, "state", "sender-keys.json")).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(gateway.logger.lines)).not.toContain(token);
  });

  it("is not taken together with an event, nor of another shape", async () => {
    await using gateway = await start({ presets: ["notion"] });
    const body = JSON.stringify({ verification_token: token, id: "e1", type: "page.created" });
    expect((await call(gateway, "/hooks/notion", { headers: JSON_TYPE, body })).status).toBe(401);
    expect((await event(gateway, "e1")).status).toBe(401);
  });

  it("of Asana comes in a header and goes back in one", async () => {
    await using gateway = await start({ presets: ["asana"] });
    const key = "b537207f20cbfa02357cf448134da559";
    const answer = await call(gateway, "/hooks/asana", { headers: { ...JSON_TYPE, "x-hook-secret": key }, body: "{}" });
    expect([answer.status, answer.headers.get("x-hook-secret")]).toEqual([200, key]);
    const body = '{"events":[]}';
    const headers = { ...JSON_TYPE, "x-hook-signature": hmac(key, body) };
    expect((await call(gateway, "/hooks/asana", { headers, body })).status).toBe(200);
    expect(await gateway.deliveries()).toEqual([]);
  });
});
