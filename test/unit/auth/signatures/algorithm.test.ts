import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { compileScheme } from "../../../../src/auth/signatures/compile-scheme.ts";
import { authOf, callOf, contextOf, outcome, verifierOf, verify } from "./scheme-bench.ts";
import { ED25519, P256, RSA } from "./sender-table-other.ts";
import { makeRsaCertificate } from "../keys/make-certificate.ts";

const BODY = Buffer.from("Hello, World!");
const PLAIN: AuthInput = { from: "header:sig", encoding: "base64" };
const check = (input: AuthInput, signature: Uint8Array, body = BODY) => {
  const headers = { sig: Buffer.from(signature).toString("base64") };
  return outcome(verify(verifierOf({ ...PLAIN, ...input }), callOf({ headers, body })));
};

const spkiOf = (key: KeyObject) => key.export({ format: "der", type: "spki" });
const pemOf = (key: KeyObject) => key.export({ format: "pem", type: "spki" }).toString();
const flip = (bytes: Uint8Array, at: number) =>
  bytes.map((byte, index) => (index === at % bytes.length ? byte ^ 1 : byte));

describe("a shared secret", () => {
  const bytes = Buffer.from([0, 1, 2, 250, 251, 252]);
  const signature = createHmac("sha256", bytes).update(BODY).digest();

  it.each<[AuthInput["keyEncoding"], string]>([
    ["hex", "000102fafbfc"],
    ["hex", "000102FAFBFC"],
    ["base64", "AAEC+vv8"],
    ["base64", "AAEC-vv8"],
    ["whsec", "whsec_AAEC+vv8"],
    ["whsec", "AAEC+vv8"],
  ])("may be written in %s as %s", (keyEncoding, secret) => {
    expect(check({ keyEncoding, secret }, signature)).toBe(true);
  });

  it("is the bytes of its text when nothing else is said", () => {
    const secret = "whsec_größe";
    expect(check({ secret }, createHmac("sha256", secret).update(BODY).digest())).toBe(true);
  });

  it.each<[AuthInput["keyEncoding"], string]>([
    ["hex", "xyz"],
    ["hex", "abc"],
    ["base64", "no base64!"],
    ["whsec", "whsec_"],
    ["whsec", "whsec_*"],
    ["pem", "-----BEGIN PUBLIC KEY-----"],
    ["utf8", ""],
  ])("in %s cannot be %j, which no error repeats", (keyEncoding, secret) => {
    expect(() => verifierOf({ ...PLAIN, keyEncoding, secret })).toThrow(
      new TypeError(`auth.secret is not written in ${keyEncoding}.`),
    );
  });
});

describe("a key of Ed25519", () => {
  const ed25519: AuthInput = { algorithm: "ed25519" };
  const raw = spkiOf(ED25519.publicKey).subarray(-32);
  const signature = sign(null, BODY, ED25519.privateKey);

  it.each<[AuthInput["keyEncoding"], string]>([
    ["hex", raw.toString("hex")],
    ["hex", raw.toString("hex").toUpperCase()],
    ["base64", raw.toString("base64")],
    ["whsec", `whpk_${raw.toString("base64")}`],
    ["pem", pemOf(ED25519.publicKey)],
    ["pem", `\n${pemOf(ED25519.publicKey)}\n`],
    ["pem", spkiOf(ED25519.publicKey).toString("base64")],
    ["utf8", raw.toString("hex")],
    ["utf8", raw.toString("base64")],
    ["utf8", pemOf(ED25519.publicKey)],
  ])("may be written in %s, form %#", (keyEncoding, secret) => {
    expect(check({ ...ed25519, keyEncoding, secret }, signature)).toBe(true);
    expect(check({ ...ed25519, keyEncoding, secret }, signature, Buffer.from("Hello, World?"))).toBe(
      "no signature matches",
    );
  });

  it("verifies signatures of exactly 64 bytes, each of which counts", () => {
    const input = { ...ed25519, secret: raw.toString("hex") };
    expect(check(input, signature.subarray(1))).toBe("malformed signature");
    expect(check(input, Buffer.concat([signature, Buffer.of(0)]))).toBe("malformed signature");
    fc.assert(
      fc.property(fc.nat(63), (at) => {
        expect(check(input, flip(signature, at))).toBe("no signature matches");
      }),
      { numRuns: 20 },
    );
  });

  it("may be one of several, and so may the signature", () => {
    const other = generateKeyPairSync("ed25519");
    const secret = [pemOf(other.publicKey), pemOf(ED25519.publicKey)];
    const verifier = verifierOf({ ...PLAIN, ...ed25519, secret, separator: " " });
    const sig = [Buffer.alloc(64), signature, Buffer.alloc(64)].map((bytes) => bytes.toString("base64")).join(" ");
    expect(outcome(verify(verifier, callOf({ headers: { sig }, body: BODY })))).toBe(true);
  });
});

describe("a key of RSA", () => {
  it.each(["rsa-sha1", "rsa-sha256"] as const)("verifies %s", (algorithm) => {
    const signature = sign(algorithm.slice(4), BODY, RSA.privateKey);
    const input: AuthInput = { algorithm, secret: pemOf(RSA.publicKey), keyEncoding: "pem" };
    expect(check(input, signature)).toBe(true);
    expect(check({ ...input, secret: spkiOf(RSA.publicKey).toString("base64") }, signature)).toBe(true);
    const lines = pemOf(RSA.publicKey).split("\n").slice(1, -2).join("\n");
    expect(check({ ...input, secret: lines }, signature)).toBe(true);
    expect(check({ ...input, secret: RSA.pem }, signature)).toBe(true);
    expect(check(input, signature, Buffer.from("Hello"))).toBe("no signature matches");
    expect(check(input, flip(signature, 9))).toBe("no signature matches");
    expect(check(input, signature.subarray(1))).toBe("no signature matches");
    expect(check({ ...input, algorithm: algorithm === "rsa-sha1" ? "rsa-sha256" : "rsa-sha1" }, signature)).toBe(
      "no signature matches",
    );
  });

  it("needs 2,048 bits", () => {
    const { publicKey } = makeRsaCertificate({ commonName: "short", bits: 1_024 });
    expect(() => verifierOf({ ...PLAIN, algorithm: "rsa-sha256", secret: pemOf(publicKey) })).toThrow(
      new TypeError("The public key has 1024 bits; at least 2048 are needed."),
    );
  });
});

describe("a key of ECDSA", () => {
  const input: AuthInput = {
    algorithm: "ecdsa-sha256",
    secret: spkiOf(P256.publicKey).toString("base64"),
    keyEncoding: "pem",
  };
  const signature = sign("sha256", BODY, P256.privateKey);

  it("verifies signatures in DER", () => {
    expect(check(input, signature)).toBe(true);
    expect(check({ ...input, secret: pemOf(P256.publicKey) }, signature)).toBe(true);
    expect(check({ ...input, keyEncoding: "base64" }, signature)).toBe(true);
    expect(check(input, signature, Buffer.from("Hello"))).toBe("no signature matches");
    expect(check(input, sign("sha256", BODY, { key: P256.privateKey, dsaEncoding: "ieee-p1363" }))).toBe(
      "no signature matches",
    );
  });

  it("verifies nothing else, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        expect(check(input, bytes)).toBe("no signature matches");
      }),
      { numRuns: 30 },
    );
  });
});

describe("a public key", () => {
  it.each<[AuthInput["algorithm"], KeyObject, string]>([
    ["ed25519", RSA.publicKey, "The public key is of the kind rsa; the algorithm takes ed25519."],
    ["rsa-sha256", ED25519.publicKey, "The public key is of the kind ed25519; the algorithm takes rsa."],
    ["ecdsa-sha256", RSA.publicKey, "The public key is of the kind rsa; the algorithm takes ec."],
  ])("of another kind than %s is refused at load", (algorithm, key, message) => {
    expect(() => verifierOf({ ...PLAIN, algorithm, secret: pemOf(key) })).toThrow(new TypeError(message));
  });

  it.each<[AuthInput["keyEncoding"], string]>([
    ["utf8", "a shared secret"],
    ["utf8", ""],
    ["hex", "00ff"],
    ["hex", "zz"],
    ["pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"],
    ["base64", "AAAA"],
    ["hex", Buffer.from("a key of thirty-two bytes, not so").toString("hex")],
  ])("in %s cannot be %j, which no error repeats", (keyEncoding, secret) => {
    expect(() => verifierOf({ ...PLAIN, algorithm: "ed25519", keyEncoding, secret })).toThrow(
      new TypeError("auth.secret is no public key; give it as PEM, or as the base64 that the sender shows."),
    );
  });
});

describe("a key that the sender delivers", () => {
  const sign256 = (secret: string) => createHmac("sha256", secret).update(BODY).digest("base64");

  function delivering(input: AuthInput, current: () => string | undefined) {
    const asked: string[] = [];
    const deliveredKeys = {
      get(route: string) {
        asked.push(route);
        return current();
      },
      accept: () => Promise.resolve(false),
    };
    const verifier = compileScheme(
      authOf({ ...PLAIN, ...input }, { deliveredKey: true }),
      contextOf({ deliveredKeys }),
    );
    return { asked, check: (sig: string) => verify(verifier, callOf({ headers: { sig }, body: BODY })) };
  }

  it("is taken at the time of the request, by the route", () => {
    let key: string | undefined;
    const { asked, check } = delivering({}, () => key);
    expect(check(sign256("delivered"))).toEqual({ ok: false, reason: "no key was delivered yet" });
    key = "delivered";
    const verified = check(sign256("delivered"));
    expect(verified).toMatchObject({ ok: true, credentialId: expect.stringMatching(/^[0-9a-f]{16}$/) as string });
    expect(check(sign256("delivered"))).toMatchObject({ ok: true });
    expect(outcome(check(sign256("other")))).toBe("no signature matches");
    key = "other";
    expect(outcome(check(sign256("other")))).toBe(true);
    expect(outcome(check(sign256("delivered")))).toBe("no signature matches");
    expect(new Set(asked)).toEqual(new Set(["sender"]));
  });

  it("is accepted beside those of the configuration", () => {
    const keys: string[] = [];
    const { check } = delivering({ secret: "configured" }, () => keys[0]);
    expect(outcome(check(sign256("configured")))).toBe(true);
    keys.push("delivered");
    expect(outcome(check(sign256("configured")))).toBe(true);
    expect(outcome(check(sign256("delivered")))).toBe(true);
  });

  it("verifies nothing when it is no key", () => {
    expect(delivering({ keyEncoding: "hex" }, () => "xyz").check(sign256("xyz"))).toEqual({
      ok: false,
      reason: "the key that was delivered is no key",
    });
    const hex = Buffer.from("configured").toString("hex");
    const { check } = delivering({ keyEncoding: "hex", secret: hex }, () => "xyz");
    expect(outcome(check(sign256("configured")))).toBe(true);
  });
});
