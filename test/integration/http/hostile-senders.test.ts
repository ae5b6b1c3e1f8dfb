import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { wireRequest } from "./http-connection.ts";
import { RunningGateway } from "./running-gateway.ts";
import { call, github, GITHUB_SECRET, githubHeaders, hmac, pushOf } from "./sender-calls.ts";

const SECRET = "secret-of-the-hostile-tests-0123456789";
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };
const GITHUB = { presets: ["github"], github: { secret: GITHUB_SECRET, deliver: false } };
const PUBLIC_URL = "https://gateway.example.com";
/** So that what one test is refused does not lock the address of the next. */
const COMMON = { publicUrl: PUBLIC_URL, lockout: { failures: 1_000 } };

/** All tests have one gateway, each with a configuration of its own: reloading is cheaper than starting. */
let gateway: RunningGateway;
let seen = 0;
beforeAll(async () => {
  gateway = await RunningGateway.start({ hooks: COMMON });
});
afterAll(() => gateway[Symbol.asyncDispose]());

async function load(hooks: object): Promise<{ readonly applied: boolean; readonly told: string }> {
  const before = gateway.logger.lines.length;
  gateway.writeHooks({ ...COMMON, ...hooks });
  const { applied } = await gateway.reload();
  seen = (await gateway.firsts()).length;
  return { applied, told: JSON.stringify(gateway.logger.lines.slice(before)) };
}

/** Takes a configuration into use that has to be good. */
async function given(hooks: object): Promise<void> {
  const { applied, told } = await load(hooks);
  expect(applied, `${told} refused it`).toBe(true);
}

/** How many deliveries there are since the configuration, besides repeats. */
const delivered = async () => (await gateway.firsts()).length - seen;

/** A mapping at the path `in` whose sender proves itself so. */
function own(auth: object, mapping: object = {}): object {
  const common = { match: { path: "in" }, messageTemplate: "A: {{a}}", deliver: false };
  return { ...common, auth: { secret: SECRET, ...auth }, ...mapping };
}

/** A call of the mapping at `in`. */
const post = (headers: object, body: string) => call(gateway, "/hooks/in", { headers: { ...headers }, body });

const lines = (headers: object) => Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);

describe("a signature that was got by asking", () => {
  it.each(["123", "true", "null", "abc"])("of X for the challenge %s lets no such body in", async (token) => {
    await given({ presets: ["x"], x: { secret: SECRET } });
    const { body } = await call(gateway, `/hooks/x?crc_token=${token}`, { method: "GET" });
    const headers = { ...JSON_TYPE, "x-twitter-webhooks-signature": String(body["response_token"]) };
    expect((await call(gateway, "/hooks/x", { headers, body: token })).status).toBe(401);
    expect(await delivered()).toBe(0);
  });

  const computed = { t: { algorithm: "hmac-sha256", encoding: "hex", of: "{query:c}" } };
  const reply = { status: 200, text: "{computed:t}" };
  const handshakes = [{ name: "crc", method: "GET", verified: false, when: { "query:c": true }, computed, reply }];

  it("lets no text in where the owner's mapping takes text", async () => {
    await given({
      mappings: [own({ from: "header:x-sig" }, { handshakes, accept: ["text"], messageTemplate: "{{text}}" })],
    });
    const { text } = await call(gateway, "/hooks/in?c=wire-the-money", { method: "GET" });
    expect((await post({ "content-type": "text/plain", "x-sig": text }, "wire-the-money")).status).toBe(401);
  });

  it.each(["{sha256}", "{crc32}", "{form}", "{header:x-id}"])(
    "is refused at load where %s is all that is signed, which says nothing that could not be asked for",
    async (content) => {
      expect((await load({ mappings: [own({ from: "header:x-sig", content }, { handshakes })] })).applied).toBe(false);
    },
  );
});

describe("a replay", () => {
  it("is recognized also when its body arrives after the time of its signature", async () => {
    await given({ ...GITHUB, presets: ["slack", "github"], slack: { secret: SECRET, deliver: false } });
    gateway.stopClock();
    const body = '{"type":"event_callback","event":{"type":"app_mention","user":"U1","text":"hi"}}';
    const ts = String(Math.floor(Date.now() / 1_000));
    const signature = `v0=${hmac(SECRET, `v0:${ts}:${body}`)}`;
    const headers = { ...JSON_TYPE, "x-slack-signature": signature, "x-slack-request-timestamp": ts };
    const first = await call(gateway, "/hooks/slack", { headers, body });
    gateway.advance(298_000);
    const connection = await gateway.connect();
    const bytes = wireRequest({ target: "/hooks/slack", headers: lines(headers), body });
    connection.send(bytes.subarray(0, -5));
    await connection.flushed();
    gateway.advance(10_000);
    // Enough calls of others for lapsed marks to be cleared away.
    for (let at = 0; at < 40; at++) await github(gateway, pushOf(`other${at}`));
    connection.send(bytes.subarray(-5));
    expect((await connection.answer()).text).toBe(first.text);
  });

  it("is recognized in another form around the JSON that Gitea signed", async () => {
    await given({ presets: ["gitea"], gitea: { secret: SECRET, contentType: "form", deliver: false } });
    const payload = pushOf("gitea");
    const form = new URLSearchParams({ payload }).toString();
    const signed = { ...FORM_TYPE, "x-gitea-event": "push", "x-gitea-signature": hmac(SECRET, payload) };
    const bodies = [form, `${form}&x=1`, `y=2&${form}`, `payload=x&${form}`];
    for (const [at, body] of bodies.entries()) {
      const headers = { ...signed, "x-gitea-delivery": String(at) };
      expect((await call(gateway, "/hooks/gitea", { headers, body })).status).toBe(200);
    }
    expect(await delivered()).toBe(1);
  });

  it("is recognized when its form is empty and then is no form", async () => {
    await given({ mappings: [own({ from: "header:x-sig", content: "{url}{form}" }, { accept: ["form"] })] });
    const signature = { "x-sig": hmac(SECRET, `${PUBLIC_URL}/hooks/in`) };
    for (const type of [FORM_TYPE, JSON_TYPE]) await post({ ...type, ...signature }, "");
    expect(await delivered()).toBe(1);
  });

  it("is recognized with the fields of its form in another order, repeated or escaped otherwise", async () => {
    await given({ mappings: [own({ from: "header:x-sig", content: "{url}{form}" }, { accept: ["form"] })] });
    const headers = { ...FORM_TYPE, "x-sig": hmac(SECRET, `${PUBLIC_URL}/hooks/ina1b2 3`) };
    for (const body of ["a=1&b=2+3", "b=2%203&a=1", "a=1&b=2+3&a=1", "&a=1&&b=%32+3", "__proto__=x&a=1&b=2+3"]) {
      expect((await post(headers, body)).status).toBe(202);
    }
    expect(await delivered()).toBe(1);
  });

  it("is recognized with another body of the same checksum", async () => {
    await given({ mappings: [own({ from: "header:x-sig", content: "{header:x-id}|{crc32}" })] });
    const [body, other] = ['{"a":"plumless"}', '{"a":"buckeroo"}'];
    expect(crc32(other)).toBe(crc32(body));
    const headers = { ...JSON_TYPE, "x-id": "1", "x-sig": hmac(SECRET, `1|${crc32(body)}`) };
    const first = await post(headers, body);
    expect([first.status, (await post(headers, other)).text]).toEqual([202, first.text]);
  });

  it("is taken once by each path that has the secret, and by one gateway of a state directory", async () => {
    await given({ ...GITHUB, mappings: [{ preset: "github", match: { path: "code" }, deliver: false }] });
    const body = pushOf("two paths");
    const headers = githubHeaders(body);
    for (const path of ["github", "code", "github", "code/"]) await call(gateway, `/hooks/${path}`, { headers, body });
    expect(await delivered()).toBe(2);
    const { configFile, folder, logger } = gateway;
    const other = EmbeddedGateway.start({ configFile, stateDir: join(folder, "state"), logger });
    await expect(other).rejects.toThrow(/in use by another process/u);
  });
});

describe("a secret", () => {
  it("that was rotated out verifies no call that begins afterwards; one that is still in does all the time", async () => {
    const [old, fresh] = ["old-secret-of-the-rotation-77", "new-secret-of-the-rotation-77"];
    await given({ presets: ["github"], github: { secret: [old, fresh], deliver: false } });
    const body = pushOf("under way");
    const bytes = wireRequest({
      target: "/hooks/github",
      headers: lines(githubHeaders(body, { secret: fresh })),
      body,
    });
    const connection = await gateway.connect();
    connection.send(bytes.subarray(0, -5));
    await connection.flushed();
    await given({ presets: ["github"], github: { secret: [fresh], deliver: false } });
    expect((await github(gateway, pushOf("rotated"), { secret: old })).status).toBe(401);
    connection.send(bytes.subarray(-5));
    expect((await connection.answer()).status).toBe(200);
  });

  const secret = "abc/def+ghi é jkl'mno-0123456789";
  const json = JSON.stringify({ a: 1, key: secret });
  it.each<[string, object, string]>([
    ["with escaped slashes", JSON_TYPE, json.replaceAll("/", String.raw`\/`)],
    ["with escaped letters", JSON_TYPE, json.replaceAll("é", String.raw`\u00E9`).replaceAll("b", String.raw`\u0062`)],
    ["as it is", JSON_TYPE, json],
    ["as a form", FORM_TYPE, new URLSearchParams({ a: "1", key: secret }).toString()],
    ["as a form in small letters", FORM_TYPE, `a=1&key=${encodeURIComponent(secret).toLowerCase()}`],
  ])("in a body, written %s, reaches no agent", async (_case, type, body) => {
    const auth = { scheme: "secret", from: "body:key", secret };
    await given({ mappings: [own(auth, { accept: ["form"], messageTemplate: "A: {{a}} {{key}}" })] });
    const { status, body: answer } = await post(type, body);
    expect(status).toBe(202);
    const { message } = (await gateway.delivery(answer["deliveryId"])).runs[0]!.spec as AgentSpec;
    expect(message).toBe(`A: 1 ${"*".repeat(message.length - 5)}`);
  });

  it.each<[string, object]>([
    ["in the place of the block", { presets: ["github"], github: SECRET }],
    ["under another name", { presets: ["github"], github: { secretKey: SECRET } }],
    ["in a list in a list", { presets: ["github"], github: { secret: [[SECRET]] } }],
    ["as an object", { presets: ["github"], github: { secret: { value: SECRET } } }],
    ["as the name of a variable", { presets: ["github"], github: { secret: { env: SECRET } } }],
    [
      "as a setting of another shape",
      { presets: ["meta"], meta: { secret: GITHUB_SECRET, verifyToken: { a: SECRET } } },
    ],
    ["that is no key", { mappings: [own({ from: "header:x-sig", algorithm: "ed25519", keyEncoding: "pem" })] }],
    ["without its user name", { mappings: [own({ scheme: "basic" })] }],
    ["in a URL", { publicUrl: `https://user:${SECRET}@gateway.example.com` }],
  ])("that is wrong in the configuration, %s, is not disclosed by the error", async (place, hooks) => {
    const { applied, told } = await load(hooks);
    // A variable that is not set sets its sender aside; everything else refuses the file.
    expect(applied).toBe(place === "as the name of a variable");
    expect(told).not.toContain(SECRET);
  });
});

describe("a stranger", () => {
  it("cannot fill the log with handshakes", async () => {
    await given({ presets: ["x", "notion"], x: { secret: SECRET } });
    const before = gateway.logger.lines.length;
    for (let at = 0; at < 30; at++) {
      await call(gateway, `/hooks/x?crc_token=a${at}`, { method: "GET" });
      const body = JSON.stringify({ verification_token: `secret_of_a_stranger_0000${at}` });
      await call(gateway, "/hooks/notion", { headers: JSON_TYPE, body });
    }
    expect(gateway.logger.lines.length - before).toBeLessThan(10);
  });

  it("gets 503 for a key that cannot be kept, and is not believed", async () => {
    await given({ presets: ["asana"] });
    const blocked = join(gateway.folder, "state", "sender-keys.json.tmp");
    mkdirSync(blocked);
    const key = "secret_of_a_stranger_0123456789_abcdef";
    const answer = await call(gateway, "/hooks/asana", { headers: { ...JSON_TYPE, "x-hook-secret": key }, body: "{}" });
    expect([answer.status, answer.body["code"]]).toEqual([503, "STORE_UNAVAILABLE"]);
    const headers = { ...JSON_TYPE, "x-hook-signature": hmac(key, "{}") };
    expect((await call(gateway, "/hooks/asana", { headers, body: "{}" })).status).toBe(401);
  });

  it.each(["sns.s3.amazonaws.com", "sns.s3-us-west-2.amazonaws.com", "sns.us-east-1.amazonaws.com"])(
    "cannot have a certificate of %s believed, which is not where the topic is",
    async (host) => {
      const TopicArn = "arn:aws:sns:eu-central-1:123456789012:alerts";
      await given({ presets: ["aws-sns"], "aws-sns": { topicArns: [TopicArn] } });
      const Timestamp = new Date().toISOString();
      const fields = { Type: "Notification", MessageId: "1", Message: "m", TopicArn, Timestamp, SignatureVersion: "2" };
      const body = JSON.stringify({ ...fields, Signature: "AAAA", SigningCertURL: `https://${host}/a.pem` });
      expect((await call(gateway, "/hooks/aws-sns", { headers: JSON_TYPE, body })).status).toBe(401);
    },
  );
});

describe("an honest sender", () => {
  it("is heard whatever it says the type of its JSON is", async () => {
    await given(GITHUB);
    for (const type of [
      "application/octet-stream",
      "text/xml",
      "",
      "nonsense",
      "application/json;;;",
      "a/b;charset=utf8",
    ]) {
      const body = pushOf(`of ${type}`);
      const headers = { ...githubHeaders(body), "content-type": type };
      expect((await call(gateway, "/hooks/github", { headers, body })).status).toBe(200);
    }
  });

  it.each<[string, object]>([
    ["there is nothing to say", { messageTemplate: "{{missing}}" }],
    ["there is no list to go through", { forEach: "items" }],
  ])("is not answered 4xx, after which the sender might give up, where %s", async (_case, mapping) => {
    await given({ mappings: [own({ from: "header:x-sig" }, mapping)] });
    const body = JSON.stringify(mapping);
    expect((await post({ ...JSON_TYPE, "x-sig": hmac(SECRET, body) }, body)).status).toBeLessThan(300);
    expect(await delivered()).toBe(1);
  });

  it("cannot lose its path to the secret path of another: that is refused at load", async () => {
    const below = { match: { path: "in/push" }, messageTemplate: "pushed" };
    const { applied, told } = await load({ mappings: [own({ scheme: "secret", from: "path" }), below] });
    expect([applied, told]).toEqual([false, expect.stringMatching(/hooks\.mappings\[1\]\.match\.path/u)]);
  });
});
