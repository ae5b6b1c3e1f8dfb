import { createHmac } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chunked, wireRequest } from "../http/http-connection.ts";
import { RunningGateway } from "../http/running-gateway.ts";
import { GITHUB_SECRET, githubHeaders, hmac, pushOf } from "../http/sender-calls.ts";
import { exchange } from "./exchange.ts";
import { Unanswered } from "./unanswered.ts";

const SECRET = "5f0c2a9be1d84736a1b2c3d4e5f60718";
const PUBLIC_URL = "https://gateway.example.com";
const AT_ONCE = 8;
const WITHIN_MS = 15_000;
/** Whoever is answered nothing within it sent a part of a request only. */
const IDLE_MS = 150;
const MAX_GROWTH_BYTES = 64 * 1_048_576;

const secret = { secret: SECRET, deliver: false };
const HOOKS = {
  publicUrl: PUBLIC_URL,
  lockout: { failures: 100_000 },
  presets: ["github", "slack", "twilio", "stripe", "x", "zoom", "meta", "microsoft-graph", "notion", "cloudevents"],
  github: { secret: GITHUB_SECRET, deliver: false },
  slack: secret,
  twilio: secret,
  stripe: { ...secret, secret: `whsec_${SECRET}` },
  x: secret,
  zoom: secret,
  meta: { ...secret, verifyToken: "agreed-before-the-fuzz" },
  "microsoft-graph": secret,
  cloudevents: secret,
  mappings: [
    { match: { path: "path" }, auth: { scheme: "secret", from: "path", secret: SECRET }, messageTemplate: "a" },
    { match: { path: "basic" }, auth: { scheme: "basic", username: "u", secret: SECRET }, messageTemplate: "b" },
    { messageTemplate: "any path", deliver: false },
  ],
};
const PATHS = [...HOOKS.presets, "path", "basic", "path/x", "other"];

/** A request as its sender makes it. */
interface Signed {
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

const seconds = String(Math.floor(Date.now() / 1_000));
const slackBody = '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","user":"U1","text":"hi"}}';
const stripeBody = '{"id":"evt_1","type":"charge.failed","data":{"object":{"id":"ch_1","object":"charge"}}}';
const lines = (headers: object) => Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
const signed = (path: string, headers: object, body: string, type = "application/json"): Signed => ({
  target: `/hooks/${path}`,
  headers: lines({ "content-type": type, ...headers }),
  body,
});
const slackSignature = `v0=${hmac(SECRET, `v0:${seconds}:${slackBody}`)}`;
const stripeSignature = hmac(`whsec_${SECRET}`, `${seconds}.${stripeBody}`);
const twilioSignature = createHmac("sha1", SECRET)
  .update(`${PUBLIC_URL}/hooks/twilio?a=1Bodya bFrom+1MessageSidSM1SmsStatusreceived`)
  .digest("base64");
const twilioBody = "MessageSid=SM1&SmsStatus=received&From=%2B1&Body=a+b";
const FORM = "application/x-www-form-urlencoded";
const SIGNED: readonly Signed[] = [
  signed("github", githubHeaders(pushOf("site")), pushOf("site")),
  signed("slack", { "x-slack-request-timestamp": seconds, "x-slack-signature": slackSignature }, slackBody),
  signed("stripe", { "stripe-signature": `t=${seconds},v1=${stripeSignature},v0=00` }, stripeBody),
  signed("twilio?a=1", { "x-twilio-signature": twilioSignature }, twilioBody, FORM),
];

let gateway: RunningGateway;
let unanswered: Unanswered;
let growth: () => number;
beforeAll(async () => {
  gateway = await RunningGateway.start({ hooks: HOOKS });
  unanswered = new Unanswered();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external;
  collect();
  const before = held();
  growth = () => {
    collect();
    return held() - before;
  };
});
afterAll(async () => {
  unanswered[Symbol.dispose]();
  await gateway[Symbol.asyncDispose]();
});

/** Sends these bytes on a connection of their own; the statuses of what is answered. */
async function send(bytes: Buffer): Promise<readonly number[]> {
  const { statuses, closed } = await exchange({
    port: gateway.port,
    bytes,
    withinMs: WITHIN_MS,
    idleMs: IDLE_MS,
    isOwed: () => unanswered.some,
  });
  const isWell = closed && statuses.every((status) => status < 500 || status === 503);
  expect(isWell, `${statuses.join(" ")} to ${JSON.stringify(bytes.toString("latin1").slice(0, 2_000))}`).toBe(true);
  return statuses;
}

const bytesOf = ({ target, headers, body }: Signed, method = "POST") =>
  wireRequest({ method, target, headers: [...headers, "Connection: close"], body });

const types = ["application/json", "text/plain", FORM, "a/b"];
const bodies = fc.oneof(fc.json(), fc.string(), fc.constantFrom("", "{}", "[]", "0"));
const targets = fc.constantFrom("/hooks/wake", "/hooks/agent", "/hooks/other", "/hooks/basic");
const at = fc.nat();
const kind = <Kind extends string>(name: Kind) => fc.constant(name);

/** What happens to a request on its way, by an attacker's hand or a bad line's. */
const mutation = fc.oneof(
  fc.record({ kind: kind("flip"), at, bit: fc.nat(7) }),
  fc.record({ kind: kind("insert"), at, text: fc.constantFrom("\r\n", " ", "0", "=", "%", ",", "\0") }),
  fc.record({ kind: kind("remove"), at, length: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: kind("repeat"), line: at, other: fc.boolean() }),
  fc.record({ kind: kind("drop"), line: at }),
  fc.record({ kind: kind("put"), put: fc.oneof(fc.record({ target: targets }), fc.record({ body: bodies })) }),
  fc.record({ kind: kind("type"), type: fc.constantFrom(...types) }),
  fc.record({ kind: kind("chunks"), size: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: kind("method"), method: fc.constantFrom("GET", "HEAD", "PUT", "OPTIONS", "DELETE") }),
);
type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never;

function mutate(signed: Signed, change: Mutation): Buffer {
  const { headers, body } = signed;
  switch (change.kind) {
    case "repeat": {
      const line = headers[change.line % headers.length]!;
      return bytesOf({ ...signed, headers: [...headers, change.other ? `${line}0` : line] });
    }
    case "drop":
      return bytesOf({ ...signed, headers: headers.toSpliced(change.line % headers.length, 1) });
    case "put":
      return bytesOf({ ...signed, ...change.put });
    case "type":
      return bytesOf({ ...signed, headers: [...headers.slice(1), `content-type: ${change.type}`] });
    case "method":
      return bytesOf(signed, change.method);
    case "chunks": {
      const framed = [...headers, "Transfer-Encoding: chunked", "Connection: close"];
      return wireRequest({
        target: signed.target,
        headers: framed,
        body: chunked(body, { sizes: Array(5).fill(change.size) }),
      });
    }
    default:
      return mutateBytes(bytesOf(signed), change);
  }
}

function mutateBytes(bytes: Buffer, change: Extract<Mutation, { readonly at: number }>): Buffer {
  const at = change.at % bytes.length;
  if (change.kind === "insert")
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(change.text), bytes.subarray(at)]);
  if (change.kind === "remove") return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + change.length)]);
  const flipped = Buffer.from(bytes);
  flipped[at]! ^= 1 << change.bit;
  return flipped;
}

describe("a signed call", () => {
  it("that was changed on its way is refused, or recognized as the one it was, and the gateway stays well", async () => {
    for (const signed of SIGNED) expect((await send(bytesOf(signed)))[0]).toBeLessThan(300);
    expect(await gateway.firsts()).toHaveLength(SIGNED.length);
    const seen = new Set<number>();
    const call = fc.tuple(fc.constantFrom(...SIGNED), mutation);
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (calls) => {
        const answers = await Promise.all(calls.map(([signed, change]) => send(mutate(signed, change))));
        for (const status of answers.flat()) seen.add(status);
        expect(await gateway.firsts()).toHaveLength(SIGNED.length);
      }),
      { numRuns: 150 },
    );
    // The mutations reach every stage.
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 401, 405]));
    expect(gateway.errors).toEqual([]);
    expect(growth()).toBeLessThan(MAX_GROWTH_BYTES);
  });
});

const names =
  "authorization content-type x-hub-signature-256 x-slack-signature x-slack-request-timestamp stripe-signature " +
  "x-twilio-signature x-zm-signature x-zm-request-timestamp x-hook-secret x-notion-signature content-encoding expect " +
  "webhook-request-origin x-http-method-override x-forwarded-for __proto__";
const name = fc.constantFrom(...names.split(" "));
const value = fc.oneof(
  fc.constantFrom(
    "sha256=",
    "v0=",
    "t=1,v1=",
    "v1,",
    "Bearer ",
    "Basic dTpw",
    "100-continue",
    "gzip",
    seconds,
    ...types,
  ),
  fc.string({ unit: "grapheme-ascii", maxLength: 80 }),
  fc.integer({ min: 1, max: 10 }).map((power) => "t=1,v1=00, ".repeat(2 ** power)),
);
const queries = [
  "",
  "?crc_token=abc",
  "?hub.mode=subscribe&hub.verify_token=x",
  "?validationToken=a",
  "?a=1&a=2",
  "?token=x",
];
const query = fc.constantFrom(...queries);
const shakes = [
  "ssl_check=1&token=x",
  '{"type":"url_verification","challenge":"c"}',
  '{"verification_token":"abc"}',
  '{"type":1}',
];
const events = ['{"value":[{"clientState":""}]}', '{"value":[]}', '{"event":"endpoint.url_validation","payload":{}}'];
const content = fc.oneof(
  fc.json(),
  fc.constantFrom(...shakes, ...events),
  fc.integer({ min: 10, max: 17 }).map((power) => "[".repeat(2 ** power)),
  fc.integer({ min: 8, max: 15 }).map((power) => "a=1&".repeat(2 ** power)),
);
const guess = fc.record({
  method: fc.constantFrom("POST", "POST", "POST", "GET", "HEAD", "OPTIONS", "PUT"),
  path: fc.constantFrom(...PATHS),
  query,
  headers: fc.array(fc.tuple(name, value), { maxLength: 4 }),
  body: content,
});
const CHALLENGE = { method: "GET", path: "x", query: "?crc_token=abc", headers: [], body: "" };
const stranger = fc.oneof({ weight: 9, arbitrary: guess }, { weight: 1, arbitrary: fc.constant(CHALLENGE) });

describe("an unsigned call", () => {
  it("reaches no agent and discloses no secret, whatever its path, method and body", async () => {
    const before = await gateway.deliveries();
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.array(stranger, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (calls) => {
        const answers = await Promise.all(
          calls.map(({ method, path, query, headers, body }) => {
            const sent = headers.map(([name, value]) => `${name}: ${value}`);
            return send(bytesOf({ target: `/hooks/${path}${query}`, headers: sent, body }, method));
          }),
        );
        for (const status of answers.flat()) seen.add(status);
      }),
      { numRuns: 150 },
    );
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 401, 405]));
    expect(await gateway.deliveries()).toEqual(before);
    expect(gateway.errors).toEqual([]);
    expect(growth()).toBeLessThan(MAX_GROWTH_BYTES);
    const log = JSON.stringify(gateway.logger.lines);
    for (const told of [SECRET, GITHUB_SECRET, "agreed-before-the-fuzz"]) expect(log).not.toContain(told);
  });
});

describe("a signed call that was written otherwise", () => {
  const [github] = SIGNED as [Signed];
  const signature = github.headers.find((line) => line.startsWith("x-hub"))!;
  const others = github.headers.filter((line) => line !== signature);
  const wrong = `x-hub-signature-256: sha256=${"0".repeat(64)}`;
  const status = async (change: Partial<Signed>) => (await send(bytesOf({ ...github, ...change })))[0];

  it.each(["%67ithub", "github%2f", "GitHub", "./github", "github;x", "github#x", "github/in", "github/../github"])(
    "is on no sender's path at %s",
    async (path) => expect(await status({ target: `/hooks/${path}` })).toBe(401),
  );

  it.each(["/hooks//github", "/hooks/github//", "/hooks/github?a=1", "http://other.example/hooks/github"])(
    "is the same delivery at %s",
    async (target) => {
      expect(await status({ target })).toBe(200);
      expect(await gateway.firsts()).toHaveLength(SIGNED.length);
    },
  );

  it.each<[string, readonly string[]]>([
    ["twice, the wrong one first", [wrong, signature]],
    ["twice, the wrong one last", [signature, wrong]],
    ["twice the same", [signature, signature]],
    ["as nothing", ["x-hub-signature-256:"]],
    ["as its prefix alone", ["x-hub-signature-256: sha256="]],
    ["of another algorithm", [signature.replace("=", "-1=")]],
  ])("is refused when its signature stands there %s", async (_case, signatures) => {
    expect(await status({ headers: [...others, ...signatures] })).toBe(401);
  });

  it("is refused with any digit of its signature changed, also when it was not seen before", async () => {
    const body = pushOf("unseen");
    const hex = hmac(GITHUB_SECRET, body);
    for (let at = 0; at < hex.length; at++) {
      const changed = `x-hub-signature-256: sha256=${hex.slice(0, at)}${hex[at] === "0" ? 1 : 0}${hex.slice(at + 1)}`;
      expect(await status({ headers: [...others, changed], body })).toBe(401);
    }
  });

  it("is refused when its signature comes behind the body", async () => {
    const headers = [...others, "Transfer-Encoding: chunked", "Connection: close"];
    const body = chunked(github.body, { trailers: [signature] });
    expect(await send(wireRequest({ target: github.target, headers, body }))).toEqual([401]);
  });
});
