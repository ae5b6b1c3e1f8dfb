import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isKnownSecret } from "../../../../src/config/secrets.ts";
import { context, GATEWAY_SECRET, GOOD_SECRET, GOOD_TOKEN, read, refusalsOf } from "../hooks-context.ts";

const KEY = "hooks.mappings[0].auth.secret";
const signed = { from: "header:x-signature" };
const mapped = (auth: object): object => ({ mappings: [{ match: { path: "a" }, messageTemplate: "m", auth }] });
const refuse = (auth: object, around = context()): string[] =>
  refusalsOf(mapped(auth), around).map((line) => line.replace(`${KEY}: `, ""));
const secretsOf = (auth: object, around = context()): readonly string[] => {
  const config = read(mapped(auth), around).config.mappings[0]!.auth;
  return config !== undefined && "secrets" in config ? config.secrets : [];
};

const OF_GATEWAY = "is also a secret of the gateway itself; give the sender one of its own";
const OF_HOOKS = "is also the hook token; give the sender a secret of its own";
const KNOWN = "is the secret of a published example; use another";
const SHORT = "has fewer than 16 characters; make a longer one with: openssl rand -hex 24";

describe("the secret of an auth", () => {
  it.each([
    [signed, "is required by the scheme signature: what the sender and this gateway share"],
    [{ scheme: "secret" }, "is required by the scheme secret: what the sender and this gateway share"],
    [{ scheme: "basic" }, "is required by the scheme basic: what the sender and this gateway share"],
  ])("is required: %j", (auth, line) => {
    expect(refuse(auth)).toEqual([line]);
  });

  it("may be several, from wherever secrets come from, each once", () => {
    const folder = mkdtempSync(join(tmpdir(), "auth-secrets-"));
    try {
      writeFileSync(join(folder, "old"), `${GOOD_SECRET}-old\n`, { mode: 0o600 });
      const around = context({ configDir: folder, env: { NEW: ` ${GOOD_SECRET} ` } });
      const secret = [{ env: "NEW" }, { file: "old" }, GOOD_SECRET];
      expect(secretsOf({ ...signed, secret }, around)).toEqual([GOOD_SECRET, `${GOOD_SECRET}-old`]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("names the entry of a list that is wrong, and says nothing else of one that is not to be had", () => {
    expect(refusalsOf(mapped({ ...signed, secret: [GOOD_SECRET, "short", { env: "NO_SUCH" }] }))).toEqual([
      `${KEY}[2]: the environment variable NO_SUCH is not set`,
      `${KEY}[1]: ${SHORT}`,
    ]);
    expect(refuse({ ...signed, secret: { env: "NO_SUCH" } })).toEqual(["the environment variable NO_SUCH is not set"]);
    expect(refuse({ ...signed, secret: " " })).toEqual(["is empty"]);
  });

  it("is refused when it is there twice", () => {
    const mapping = { match: { path: "a" }, messageTemplate: "m", auth: { ...signed, secret: GOOD_SECRET } };
    expect(refusalsOf({ mappings: [{ ...mapping, secret: GOOD_SECRET }] })).toEqual([
      "hooks.mappings[0].secret: is set twice, here and as auth.secret; remove one of them",
    ]);
  });

  it("does not say by itself how the sender uses it", () => {
    expect(refusalsOf({ mappings: [{ match: { path: "a" }, messageTemplate: "m", secret: GOOD_SECRET }] })).toEqual([
      'hooks.mappings[0].auth.from: is required by the scheme signature: where the signature stands, for example "header:x-signature"',
    ]);
  });

  it.each<[object, string, string]>([
    [signed, GATEWAY_SECRET, OF_GATEWAY],
    [signed, GOOD_TOKEN, OF_HOOKS],
    [{ scheme: "secret" }, GOOD_TOKEN, OF_HOOKS],
    [signed, `\${GITHUB_SECRET_OF_MINE}`, "holds a ${VARIABLE} that was not replaced"],
    [signed, "changeme", KNOWN],
    [signed, "It's a Secret to Everybody", KNOWN],
    [signed, "8f742231b10e8888abcd99yyyzzz85a5", KNOWN],
    [{ ...signed, keyEncoding: "whsec" }, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", KNOWN],
    [{ ...signed, keyEncoding: "whsec" }, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", KNOWN],
    [{ ...signed, keyEncoding: "base64" }, "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==", KNOWN],
    [signed, "whsec_test_secret", KNOWN],
    [signed, "fifteen-letters", SHORT],
    [{ scheme: "secret" }, "fifteen-letters", SHORT],
    [{ scheme: "basic" }, "a-long-user-name:short", SHORT],
    [{ scheme: "basic", username: "a-long-user-name" }, "short", SHORT],
    [{ scheme: "basic" }, "no-password-at-all", 'must be "<user>:<password>", unless auth.username is set'],
    [
      { scheme: "secret" },
      "two\nlines of a secret",
      "holds a line break or another control character, which no sender can send",
    ],
    [
      { scheme: "secret", from: "path" },
      "with/a/slash-in-between",
      'holds characters that a path carries only in escapes; use letters, digits, "-" and "_"',
    ],
    [{ ...signed, keyEncoding: "hex" }, "not-hexadecimal-at-all", "is not hex: pairs of 0-9 and a-f"],
    [{ ...signed, keyEncoding: "hex" }, "abcdef0123456789a", "is not hex: pairs of 0-9 and a-f"],
    [{ ...signed, keyEncoding: "base64" }, "what? no base64 here", "is not base64"],
    [{ ...signed, keyEncoding: "base64" }, "AAAABBBBCCCCDDDDE", "is not base64"],
    [{ ...signed, keyEncoding: "whsec" }, "whsec_what? no base64", "is not base64 after whsec_"],
    [
      { ...signed, keyEncoding: "whsec" },
      `whsec_${Buffer.alloc(15, 9).toString("base64")}`,
      'has fewer than 16 bytes; make one with: echo "whsec_$(openssl rand -base64 24)"',
    ],
    [
      { ...signed, algorithm: "ed25519", keyEncoding: "hex" },
      "ab".repeat(31),
      "is not an Ed25519 key: those have 32 bytes",
    ],
    [
      { ...signed, algorithm: "ed25519", keyEncoding: "whsec" },
      `whpk_${Buffer.alloc(33).toString("base64")}`,
      "is not an Ed25519 key: those have 32 bytes",
    ],
    [
      { ...signed, algorithm: "rsa-sha256", keyEncoding: "pem" },
      "not a key at all",
      "is not a public key in PEM; paste it whole, with its first and last line",
    ],
    [
      { ...signed, algorithm: "rsa-sha256", keyEncoding: "pem" },
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
      "is not a public key in PEM; paste it whole, with its first and last line",
    ],
    [
      { ...signed, algorithm: "ecdsa-sha256", keyEncoding: "pem" },
      Buffer.alloc(91).toString("base64"),
      "is not a public key in PEM; paste it whole, with its first and last line",
    ],
  ])("with %j refuses %j, without repeating it", (auth, secret, line) => {
    expect(refuse({ ...auth, secret })).toEqual([line]);
  });

  it.each<[object, string]>([
    [signed, "sixteen-letters-"],
    [{ scheme: "secret", from: "path" }, "5c1d9e07-ab42_f866.30~1"],
    [{ scheme: "basic" }, "me:sixteen-letters:"],
    [{ ...signed, keyEncoding: "hex" }, "ABCDEF0123456789abcdef"],
    [{ ...signed, keyEncoding: "base64" }, "AAAABBBBCCCCDDDDEE=="],
    [{ ...signed, keyEncoding: "base64" }, "AA-_BBBBCCCCDDDDEE"],
    [{ ...signed, keyEncoding: "whsec" }, Buffer.alloc(16, 9).toString("base64")],
    [{ ...signed, algorithm: "ed25519", keyEncoding: "base64" }, Buffer.alloc(32, 9).toString("base64")],
    [{ ...signed, algorithm: "ed25519", keyEncoding: "whsec" }, `whpk_${Buffer.alloc(32, 9).toString("base64")}`],
  ])("with %j has nothing against %j", (auth, secret) => {
    expect(refuse({ ...auth, secret })).toEqual([]);
    expect(secretsOf({ ...auth, secret })).toEqual([secret]);
  });

  it("puts the user name before a password", () => {
    expect(secretsOf({ scheme: "basic", username: "me", secret: GOOD_SECRET })).toEqual([`me:${GOOD_SECRET}`]);
  });

  const keys = {
    "rsa-sha256": generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey,
    "ecdsa-sha256": generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey,
    ed25519: generateKeyPairSync("ed25519").publicKey,
  };

  it.each(Object.entries(keys))(
    "takes a public key for %s as PEM, or as what is between its lines",
    (algorithm, key) => {
      const pem = key.export({ type: "spki", format: "pem" });
      const base64 = key.export({ type: "spki", format: "der" }).toString("base64");
      for (const secret of [pem, base64]) {
        expect(refuse({ ...signed, algorithm, keyEncoding: "pem", secret })).toEqual([]);
      }
    },
  );

  it.each([
    ["rsa-sha1", keys["ecdsa-sha256"], "is not an RSA key"],
    ["ecdsa-sha256", keys.ed25519, "is not an elliptic-curve key"],
    ["ed25519", keys["rsa-sha256"], "is not an Ed25519 key"],
  ] as const)("refuses for %s a key of another kind", (algorithm, key, line) => {
    const secret = key.export({ type: "spki", format: "pem" });
    expect(refuse({ ...signed, algorithm, keyEncoding: "pem", secret })).toEqual([line]);
  });

  it("never appears in a message, whatever is wrong with it", () => {
    const auth = fc.constantFrom<object>(
      signed,
      { ...signed, keyEncoding: "hex" },
      { ...signed, keyEncoding: "base64" },
      { ...signed, keyEncoding: "whsec" },
      { ...signed, algorithm: "ed25519", keyEncoding: "hex" },
      { ...signed, algorithm: "rsa-sha256", keyEncoding: "pem" },
      { scheme: "secret", from: "path" },
      { scheme: "basic" },
      { scheme: "jwt" },
      { scheme: "token" },
      certificate,
    );
    const hidden = "Zq9Zq9";
    const written = fc.oneof(
      fc.string({ maxLength: 20 }).map((text) => hidden + text),
      fc.string().map((text) => [GOOD_SECRET, hidden + text]),
      fc.constant({ env: hidden }),
      fc.constant({ secret: hidden }),
    );
    fc.assert(
      fc.property(auth, written, (auth, secret) => {
        expect(refuse({ ...auth, secret }).join("\n")).not.toContain(hidden);
      }),
    );
  });
});

const certificate = {
  ...signed,
  algorithm: "rsa-sha256",
  certificate: { from: "header:x-cert", hosts: ["example.com"] },
};

describe("isKnownSecret", () => {
  it.each(["changeme", "Change-Me", "whsec_test_secret", "its a secret to everybody", "mysecret"])(
    "knows %j",
    (value) => {
      expect(isKnownSecret(value)).toBe(true);
    },
  );

  it.each([GOOD_SECRET, "!!!", "whsec_", ""])("does not know %j", (value) => {
    expect(isKnownSecret(value)).toBe(false);
  });

  it("recognizes additional known values, in any case and wrapping", () => {
    expect(isKnownSecret("WHSEC_Some-Example", ["some_example"])).toBe(true);
    // A letter of any alphabet is no punctuation.
    expect(isKnownSecret("очень-длинный-секрет-12345")).toBe(false);
    expect(isKnownSecret("!!!", ["!!!"])).toBe(true);
    expect(isKnownSecret("!!!", ["???"])).toBe(false);
  });
});
