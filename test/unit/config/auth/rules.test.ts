import { describe, expect, it } from "vitest";
import type { AuthConfig } from "../../../../src/config/auth/schema.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { GOOD_SECRET, read, refusalsOf } from "../hooks-context.ts";

const WHERE = "hooks.mappings[0].auth";
const mapped = (auth: unknown, more: object = {}): object => ({
  publicUrl: "https://example.com",
  mappings: [{ match: { path: "a" }, messageTemplate: "m", auth, ...more }],
});
const authOf = (auth: AuthInput, more?: object): AuthConfig | undefined =>
  read(mapped(auth, more)).config.mappings[0]!.auth;

/** The lines about an `auth`, without where it stands. */
function refuse(auth: unknown): string[] {
  return refusalsOf(mapped(auth)).map((line) => line.replace(`${WHERE}.`, ""));
}

const signed = { from: "header:x-signature", secret: GOOD_SECRET };
const certified = {
  from: "body:Signature",
  algorithm: { from: "body:Version", values: { 1: "rsa-sha1", 2: "rsa-sha256" } },
  certificate: { from: "body:CertUrl", hosts: ["sns.*.amazonaws.com"] },
  content: "{sns}",
};
const jwt = {
  scheme: "jwt",
  jwksUrl: "https://id.example.com/keys",
  issuer: ["https://id.example.com"],
  audience: "hooks",
};
const ED25519 = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

describe("auth of a mapping", () => {
  it("is the hook token when there is none, or when it says so", () => {
    expect(read({ mappings: [{ messageTemplate: "m" }] }).config.mappings[0]!.auth).toBeUndefined();
    expect(authOf({ scheme: "token" })).toBeUndefined();
  });

  it("fills in what a signature leaves out", () => {
    expect(authOf(signed)).toEqual({
      scheme: "signature",
      secrets: [GOOD_SECRET],
      algorithm: "hmac-sha256",
      keyEncoding: "utf8",
      from: ["header:x-signature"],
      prefix: "",
      separator: undefined,
      pair: undefined,
      encoding: "hex",
      content: "{body}",
      id: undefined,
      timestamp: undefined,
      bodyDigest: undefined,
      anyPort: false,
      certificate: undefined,
      replaySeconds: undefined,
      deliveredKey: false,
    });
  });

  it("takes a secret beside auth as its secret", () => {
    expect(authOf({ from: "header:x-signature" }, { secret: GOOD_SECRET })).toEqual(authOf(signed));
  });

  it.each<[string, object]>([
    ["Stripe", { pair: "v1", timestamp: { from: "pair:t" }, content: "{timestamp}.{body}" }],
    ["Slack", { prefix: "v0=", timestamp: { from: "header:x-time" }, content: "v0:{timestamp}:{body}" }],
    ["Linear", { timestamp: { from: "body:webhookTimestamp", unit: "milliseconds" } }],
    ["Mailgun", { timestamp: { from: "body:s.timestamp" }, content: "{body:s.timestamp}{body:s.token}" }],
    ["a time in the URL", { timestamp: { from: "query:t" }, content: "{url}{body}" }],
    ["a time by its source", { timestamp: { from: "header:x-t" }, content: "{header:x-t}.{body}" }],
    ["Standard Webhooks", { id: "header:webhook-id", content: "{id}.{body}" }],
    ["Cloudinary", { algorithm: "sha1", content: "{body}{secret}" }],
    ["Twilio", { algorithm: "hmac-sha1", encoding: "base64", content: "{url}{form}", anyPort: true }],
    ["PayPal's content", { content: "{header:x-id}|{query:a}|{crc32}|{sha256}|{path}|{method}" }],
    ["braces that hold no name", { content: '{"a": {body}}' }],
    ["Discord", { algorithm: "ed25519", keyEncoding: "hex", secret: ED25519 }],
    ["a basic login", { scheme: "basic", from: undefined, username: "me" }],
    ["a secret in the path", { scheme: "secret", from: "path" }],
    ["a secret in each item", { scheme: "secret", from: "body:value[].clientState" }],
  ])("has nothing against the likes of %s", (_case, auth) => {
    expect(refuse({ ...signed, ...auth })).toEqual([]);
  });

  it("needs no secret where the key is in a certificate or with an identity provider", () => {
    expect(refuse(certified)).toEqual([]);
    expect(refuse({ ...certified, keyEncoding: "pem" })).toEqual([]);
    expect(refuse(jwt)).toEqual([]);
    expect(refuse({ ...jwt, claims: { email_verified: true }, from: "header:x-token", prefix: "" })).toEqual([]);
  });

  it.each<[object, string]>([
    [{ from: undefined }, "from: is required by the scheme signature: where the signature stands"],
    [{ from: "pair:v1" }, 'from: names the header, for example "header:x-signature"; its key goes into pair'],
    [{ from: "path" }, "from: can be path with the scheme secret only"],
    [{ from: ["header:a", "body:x[].y"] }, "from: can hold [] with the scheme secret only"],
    [{ username: "me" }, "username: has no effect with the scheme signature; leave it out"],
    [{ issuer: ["x"] }, "issuer: has no effect with the scheme signature; leave it out"],
    [{ separator: "" }, "separator: is empty"],
    [{ pair: "" }, "pair: is empty"],
    [{ algorithm: { from: "header:x", values: {} } }, "algorithm.values: is empty"],
    [
      {
        algorithm: { from: "header:x", values: { a: "hmac-sha256", b: "ed25519" } },
        keyEncoding: "hex",
        secret: ED25519,
      },
      "algorithm.values: mixes algorithms with a public key and such with a shared secret",
    ],
    [{ keyEncoding: "pem" }, "keyEncoding: must be utf8, hex, base64 or whsec with the algorithm hmac-sha256"],
    [{ algorithm: "ed25519" }, "keyEncoding: must be hex, base64, whsec or pem with the algorithm ed25519"],
    [{ algorithm: "rsa-sha256" }, "keyEncoding: must be pem with the algorithm rsa-sha256"],
    [{ algorithm: "ecdsa-sha256", keyEncoding: "hex" }, "keyEncoding: must be pem with the algorithm ecdsa-sha256"],
    [
      { algorithm: "sha256" },
      "content: needs {secret} with the algorithm sha256: anyone can make a digest of the rest",
    ],
    [{ content: "{id}.{body}" }, "id: is required, since the content has {id}"],
    [{ id: "header:x-id" }, "id: has no effect: the content has no {id}"],
    [{ content: "{timestamp}.{body}" }, "timestamp: is required, since the content has {timestamp}"],
    [
      { timestamp: { from: "header:x-time" } },
      "timestamp.from: is not signed: put {timestamp} into the content, or leave timestamp out",
    ],
    [{ timestamp: { from: "query:t" } }, "timestamp.from: is not signed: put {timestamp}"],
    [{ timestamp: { from: "body:t" }, content: "{body:token}" }, "timestamp.from: is not signed: put {timestamp}"],
    [{ anyPort: true }, "anyPort: has no effect: the content has no {url}"],
    [{ content: "{bod}" }, "content: {bod} is not known; known are {body}, {timestamp}, {id}"],
    [{ content: "{body}{header}" }, "content: {header} needs a name, as in {header:x}; known are"],
    [{ content: "{body}{cookie:x}" }, 'content: "{cookie:x}" is not known: only {header:...}, {query:...}, {pair:...}'],
    [
      { content: "{pair:t}.{body}" },
      'content: cannot be "pair:t": the signature\'s header has pairs only where pair is set',
    ],
    [{ id: "pair:i", content: "{id}{body}" }, 'id: cannot be "pair:i": the signature\'s header'],
    [{ timestamp: { from: "pair:t" }, content: "{timestamp}{body}" }, 'timestamp.from: cannot be "pair:t"'],
    [{ timestamp: { from: "path" }, content: "{timestamp}{body}" }, "timestamp.from: cannot be path, which is for"],
    [{ bodyDigest: { from: "pair:d", algorithm: "sha256", encoding: "hex" } }, 'bodyDigest.from: cannot be "pair:d"'],
    [
      { algorithm: { from: "pair:alg", values: { a: "hmac-sha1" } } },
      'algorithm.from: cannot be "pair:alg": the signature\'s header',
    ],
  ])("refuses %j on a signature", (auth, line) => {
    const lines = refuse({ ...signed, ...auth });
    expect(lines).toHaveLength(1);
    expect(lines[0]!.startsWith(line)).toBe(true);
  });

  it.each<[object, string]>([
    [{ certificate: { ...certified.certificate, from: "pair:c" } }, 'certificate.from: cannot be "pair:c"'],
    [{ algorithm: "hmac-sha256" }, "algorithm: must be an RSA or ECDSA one, since the key is in a certificate"],
    [{ keyEncoding: "hex" }, "keyEncoding: has no effect: the key is the certificate's; leave it out"],
    [{ secret: GOOD_SECRET }, "secret: has no effect: the key is the certificate's; leave it out"],
  ])("refuses %j beside a certificate", (auth, line) => {
    const lines = refuse({ ...certified, ...auth });
    expect(lines).toHaveLength(1);
    expect(lines[0]!.startsWith(line)).toBe(true);
  });

  it.each<[object, string]>([
    [{ jwksUrl: undefined }, "jwksUrl: is required by the scheme jwt: where the identity provider has its keys"],
    [{ jwksUrl: "http://id.example.com/keys" }, "jwksUrl: must be an https URL without a user name"],
    [{ jwksUrl: "https://me:pw@id.example.com" }, "jwksUrl: must be an https URL without a user name"],
    [{ jwksUrl: "keys" }, "jwksUrl: must be an https URL without a user name"],
    [{ issuer: undefined }, "issuer: is required by the scheme jwt: who issues the tokens"],
    [{ issuer: ["a", ""] }, "issuer: is required by the scheme jwt: who issues the tokens"],
    [
      { audience: undefined },
      "audience: is required by the scheme jwt: whom the tokens must be issued for, or a token for anyone would do",
    ],
    [{ secret: GOOD_SECRET }, "secret: has no effect with the scheme jwt; leave it out"],
    [{ from: "path" }, "from: can be path with the scheme secret only"],
  ])("refuses %j on a jwt", (auth, line) => {
    expect(refuse({ ...jwt, ...auth })).toEqual([line]);
  });

  it("takes a token that is signed with the secret, by its algorithm", () => {
    const bodyDigest = { from: "claim:sha256" };
    expect(authOf({ scheme: "jwt", algorithm: "hmac-sha256", secret: GOOD_SECRET, bodyDigest })).toEqual({
      scheme: "jwt",
      secrets: [GOOD_SECRET],
      algorithm: "hmac-sha256",
      from: ["header:authorization"],
      prefix: "Bearer ",
      issuer: [],
      audience: "",
      claims: {},
      bodyDigest: { from: "claim:sha256", algorithm: "sha256", encoding: "hex" },
    });
  });

  it.each<[object, string]>([
    [{ algorithm: "ed25519" }, "algorithm: must be hmac-sha256 or hmac-sha512 with the scheme jwt"],
    [{ jwksUrl: "https://id.example.com/keys" }, "jwksUrl: has no effect with the scheme jwt; leave it out"],
    [{ issuer: [""] }, "issuer: is empty"],
    [
      { bodyDigest: { from: "header:x-digest" } },
      'bodyDigest.from: must be a claim of the token, such as "claim:sha256"',
    ],
    [{ secret: undefined }, "secret: is required by the scheme jwt: what the sender and this gateway share"],
  ])("refuses %j on a token that is signed with the secret", (changes, line) => {
    expect(refuse({ scheme: "jwt", algorithm: "hmac-sha512", secret: GOOD_SECRET, ...changes })).toEqual([line]);
  });

  it("takes a list whose items are signed, by its name at the top of the body", () => {
    expect(authOf({ ...signed, each: "items" })).toMatchObject({ each: "items" });
    expect(refuse({ ...signed, each: "a.b" })).toEqual([expect.stringContaining("each: ")]);
    expect(refuse({ scheme: "secret", secret: GOOD_SECRET, each: "items" })).toEqual([
      "each: has no effect with the scheme secret; leave it out",
    ]);
  });

  it("refuses a claim as the place of a digest outside a token", () => {
    expect(refuse({ ...signed, bodyDigest: { from: "claim:sha256" } })).toEqual([
      'bodyDigest.from: cannot be "claim:sha256": only the scheme jwt has claims',
    ]);
  });

  it.each<[object, string[]]>([
    [{ scheme: "token", from: "query:k" }, ["from: has no effect with the scheme token; leave it out"]],
    [{ scheme: "token", secret: GOOD_SECRET }, ["secret: has no effect with the scheme token; leave it out"]],
    [
      { scheme: "secret", secret: GOOD_SECRET, from: "pair:x" },
      ['from: names the header, for example "header:x-signature"; its key goes into pair'],
    ],
    [
      { scheme: "secret", secret: GOOD_SECRET, from: ["query:key", "query:token"] },
      ["from: never arrives: calls with ?token= are refused; give it another name"],
    ],
    [
      { scheme: "secret", secret: GOOD_SECRET, content: "{body}" },
      ["content: has no effect with the scheme secret; leave it out"],
    ],
    [
      { scheme: "basic", secret: GOOD_SECRET, username: "a:b" },
      ['username: must not hold ":", which ends the user name'],
    ],
    [{ scheme: "magic" }, ['scheme: "magic" is not one of token, signature, secret, basic, jwt']],
    [{ ...signed, from: "cookie:x" }, [expect.stringContaining('from: "cookie:x" is not a place in the request')]],
  ])("refuses %j", (auth, lines) => {
    expect(refuse(auth)).toEqual(lines);
  });

  it("names everything that is wrong with it at once", () => {
    expect(
      refuse({ content: "{id}{timestamp}{nothing}", algorithm: "sha1" }).map((line) => line.split(":")[0]),
    ).toEqual(["from", "content", "content", "id", "timestamp", "secret"]);
  });

  it("holds an auth to its rules while hooks are off, but for its secrets", () => {
    const off = (auth: object): string[] => refusalsOf({ ...mapped(auth), enabled: false });
    expect(off({ from: "header:x" })).toEqual([]);
    expect(off({ from: "header:x", secret: { env: "NOT_SET" } })).toEqual([]);
    expect(off({ from: "header:x", content: "{id}{body}" })).toEqual([
      `${WHERE}.id: is required, since the content has {id}`,
    ]);
  });
});

describe("auth and the path of a mapping", () => {
  const mapping = { match: { path: "a" }, messageTemplate: "m", auth: signed };

  it.each([{}, { path: "/" }, { source: "x" }])("refuses auth where match is %j: its sender needs a path", (match) => {
    expect(refusalsOf({ mappings: [{ ...mapping, match }] })).toEqual([
      "hooks.mappings[0].match.path: is required: a sender with auth needs a path of its own",
    ]);
  });

  it("refuses handshakes and further methods without a path", () => {
    const handshakes = [{ name: "ping", verified: false, emptyBody: true, reply: { status: 200 } }];
    const lines = refusalsOf({
      mappings: [
        { messageTemplate: "m", match: { source: "a" }, handshakes },
        { messageTemplate: "m", match: { source: "b" }, methods: ["PUT"] },
      ],
    });
    expect(lines).toEqual([
      "hooks.mappings[0].match.path: is required: a handshake needs a path of its own",
      "hooks.mappings[1].match.path: is required: another method needs a path of its own",
    ]);
  });

  it.each(["wake", "/agent/"])("refuses auth on the path %j, which takes the hook token", (path) => {
    expect(refusalsOf({ mappings: [{ ...mapping, match: { path } }] })).toEqual([
      `hooks.mappings[0].match.path: "${path.replaceAll("/", "")}" is a built-in endpoint, which takes the hook token alone; choose another path for a sender with auth`,
    ]);
  });

  it("refuses another auth on the same path, naming both mappings", () => {
    const line = (at: number): string =>
      `hooks.mappings[${at}]: has the path "a" like hooks.mappings[0], and another auth or secret: give both the same, or another path to one`;
    const first = { ...mapping, match: { path: "a", source: "one" } };
    const second = { ...mapping, match: { path: "/a/", source: "two" } };
    expect(refusalsOf({ mappings: [first, second] })).toEqual([]);
    expect(refusalsOf({ mappings: [first, { ...second, auth: undefined }, second] })).toEqual([line(1)]);
    const other = { ...second, auth: { ...signed, secret: `${GOOD_SECRET}x` } };
    expect(refusalsOf({ mappings: [first, second, other] })).toEqual([line(2)]);
    expect(refusalsOf({ mappings: [first, { ...other, match: { path: "A" } }] })).toEqual([]);
  });
});
