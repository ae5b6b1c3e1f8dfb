import { sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import type { RemoteKeys, Verification } from "../../../../src/auth/verifier.ts";
import { callOf, contextOf, outcome, verifierOf } from "./scheme-bench.ts";
import { RSA } from "./sender-table-other.ts";
import { makeRsaCertificate } from "../keys/make-certificate.ts";

const BODY = Buffer.from("Hello, World!");
const URL_OF_KEY = "https://keys.eu-1.example.com/cert.pem";
const INPUT: AuthInput = {
  from: "header:sig",
  encoding: "base64",
  algorithm: "rsa-sha256",
  certificate: { from: "header:cert-url", hosts: ["keys.*.example.com", "Other.example"] },
};

type Certificate = RemoteKeys["certificate"];

interface Options {
  readonly input?: AuthInput;
  readonly certificate?: Certificate;
  readonly receivedAt?: number;
}

/** Verifies a request whose certificate is at a URL; `undefined`: it names none. */
function check(url: string | undefined, { input = INPUT, certificate = () => RSA.pem, receivedAt }: Options = {}) {
  const remoteKeys = { ...contextOf().remoteKeys, certificate };
  const sig = sign("sha256", BODY, RSA.privateKey).toString("base64");
  const headers = url === undefined ? { sig } : { sig, "cert-url": url };
  return verifierOf(input, { remoteKeys }).verify(
    callOf({ headers, body: BODY, ...(receivedAt === undefined ? {} : { receivedAt }) }),
  );
}

const outcomeOf = (verification: ReturnType<typeof check>) => outcome(verification as Verification);

describe("a certificate that is known", () => {
  it("verifies at once", () => {
    expect(check(URL_OF_KEY)).toMatchObject({
      ok: true,
      credentialId: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      replay: expect.anything() as object,
    });
  });

  it("is asked for by the URL, as it is understood", () => {
    const asked: string[] = [];
    const certificate: Certificate = (url) => {
      asked.push(url);
      return RSA.pem;
    };
    expect(outcomeOf(check("HTTPS://KEYS.EU-1.Example.com:443/a/../cert.pem", { certificate }))).toBe(true);
    expect(asked).toEqual([URL_OF_KEY]);
  });

  it.each(["https://keys.eu-1.example.com", "https://other.example/", "https://OTHER.example/x"])(
    "may be at %s",
    (url) => {
      expect(outcomeOf(check(url))).toBe(true);
    },
  );

  it.each([
    "http://keys.eu-1.example.com/cert.pem",
    "https://keys.example.com/cert.pem",
    "https://keys..example.com/cert.pem",
    "https://keys.a.b.example.com/cert.pem",
    "https://keys.eu-1.example.com.evil.example/cert.pem",
    "https://evil.keys.eu-1.example.com/cert.pem",
    "https://keys.eu-1.example.com./cert.pem",
    "https://keys.eu-1.example.com@evil.example/cert.pem",
    "https://user@keys.eu-1.example.com/cert.pem",
    "https://:pw@keys.eu-1.example.com/cert.pem",
    "https://keys.eu-1.example.com:8443/cert.pem",
    "https://keys.eu-1.example.com/cert.pem?Action=Get",
    "https://keys.eu-1.example.com/cert.pem?",
    "https://keys.eu-1.example.com/cert.pem#x",
    "https://evil.example/keys.eu-1.example.com",
    "https://127.0.0.1/cert.pem",
    "//keys.eu-1.example.com/cert.pem",
    "keys.eu-1.example.com",
    "",
  ])("is not fetched from %s", (url) => {
    let isAsked = false;
    const certificate: Certificate = () => {
      isAsked = true;
      return RSA.pem;
    };
    expect(outcomeOf(check(url, { certificate }))).toBe("the certificate's URL is not allowed");
    expect(isAsked).toBe(false);
  });

  it("is fetched only from the path that the configuration names, where # is a hexadecimal digit", () => {
    const certificate = { from: "header:cert-url", hosts: ["keys.*.example.com"], path: "/key.v1-##.pem" };
    const input: AuthInput = { ...INPUT, certificate };
    const outcome = (path: string) => outcomeOf(check(`https://keys.eu-1.example.com${path}`, { input }));
    expect(outcome("/key.v1-a0.pem")).toBe(true);
    for (const path of [
      "/key.v1-g0.pem",
      "/key.v1-a00.pem",
      "/keyXv1-a0.pem",
      "/key.v1-a0.pem/x",
      "/x/key.v1-a0.pem",
      "/",
    ]) {
      expect(outcome(path)).toBe("the certificate's URL is not allowed");
    }
  });

  it("may have a URL of 2,048 characters", () => {
    const url = `https://keys.eu-1.example.com/${"a".repeat(2_018)}`;
    expect(outcomeOf(check(url))).toBe(true);
    expect(outcomeOf(check(`${url}a`))).toBe("the certificate's URL is not allowed");
  });

  it("must be named", () => {
    expect(outcomeOf(check(undefined))).toBe("header cert-url is missing");
  });
});

describe("a certificate that is fetched", () => {
  it("verifies once it is there", async () => {
    expect(outcome(await check(URL_OF_KEY, { certificate: () => Promise.resolve(RSA.pem) }))).toBe(true);
  });

  it.each<[string, Certificate]>([
    ["is not known", () => undefined],
    ["is not found", () => Promise.resolve(undefined)],
    ["fails", () => Promise.reject(new Error("no network"))],
  ])("that %s says nothing against the sender", async (_, certificate) => {
    expect(await check(URL_OF_KEY, { certificate })).toEqual({
      ok: false,
      reason: "the certificate is not to be had now",
      retryAfterSeconds: 30,
    });
  });

  it("is not asked for when the signature is none", () => {
    const remoteKeys = { ...contextOf().remoteKeys, certificate: () => Promise.resolve(RSA.pem) };
    const verifier = verifierOf(INPUT, { remoteKeys });
    expect(verifier.verify(callOf({ headers: { sig: "*", "cert-url": URL_OF_KEY } }))).toEqual({
      ok: false,
      reason: "malformed signature",
    });
  });
});

describe("what a certificate says", () => {
  const other = makeRsaCertificate({ commonName: "other" });

  it("is the key that verifies", () => {
    expect(outcomeOf(check(URL_OF_KEY, { certificate: () => other.pem }))).toBe("no signature matches");
  });

  it("is nothing when it is none", () => {
    for (const pem of ["", "no certificate", RSA.publicKey.export({ format: "pem", type: "spki" }).toString()]) {
      expect(outcomeOf(check(URL_OF_KEY, { certificate: () => pem }))).toBe(
        "the certificate has no key of the algorithm",
      );
    }
  });

  it("is nothing when its key is of another kind, or too short", () => {
    const input: AuthInput = { ...INPUT, algorithm: "ecdsa-sha256" };
    expect(outcomeOf(check(URL_OF_KEY, { input }))).toBe("the certificate has no key of the algorithm");
    const short = makeRsaCertificate({ commonName: "short", bits: 1_024 });
    expect(outcomeOf(check(URL_OF_KEY, { certificate: () => short.pem }))).toBe(
      "the certificate has no key of the algorithm",
    );
  });

  it.each([
    ["sns.amazonaws.com", true],
    ["SNS.amazonaws.com", "the certificate is of another subject"],
    ["amazonaws.com", "the certificate is of another subject"],
    ["US", "the certificate is of another subject"],
  ])("of its subject must be as configured: %s", (subject, expected) => {
    const input: AuthInput = { ...INPUT, certificate: { ...INPUT.certificate!, subject } };
    expect(outcomeOf(check(URL_OF_KEY, { input }))).toBe(expected);
  });

  const short = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 2) };

  it.each([
    [short.from - 1, "the certificate is not valid at this time"],
    [short.from, "no signature matches"],
    [short.to, "no signature matches"],
    [short.to + 1, "the certificate is not valid at this time"],
  ])("of its time is held against that of the request: %i", (receivedAt, expected) => {
    expect(outcomeOf(check(URL_OF_KEY, { certificate: () => SHORT_LIVED.pem, receivedAt }))).toBe(expected);
  });

  it("is inspected again when it is another one", () => {
    const pems = [other.pem, RSA.pem, other.pem, "none", RSA.pem];
    const remoteKeys = { ...contextOf().remoteKeys, certificate: () => pems.shift() };
    const verifier = verifierOf(INPUT, { remoteKeys });
    const sig = sign("sha256", BODY, RSA.privateKey).toString("base64");
    const call = callOf({ headers: { sig, "cert-url": URL_OF_KEY }, body: BODY });
    const outcomes = [1, 2, 3, 4, 5].map(() => outcome(verifier.verify(call) as Verification));
    expect(outcomes).toEqual([
      "no signature matches",
      true,
      "no signature matches",
      "the certificate has no key of the algorithm",
      true,
    ]);
  });

  it("is remembered of a few certificates only", () => {
    const pems = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? RSA.pem : `no certificate ${index}`));
    const remoteKeys = { ...contextOf().remoteKeys, certificate: () => pems.shift() };
    const verifier = verifierOf(INPUT, { remoteKeys });
    const sig = sign("sha256", BODY, RSA.privateKey).toString("base64");
    const call = callOf({ headers: { sig, "cert-url": URL_OF_KEY }, body: BODY });
    for (let index = 0; index < 40; index++) {
      expect(outcome(verifier.verify(call) as Verification) === true).toBe(index % 2 === 0);
    }
  });
});

const SHORT_LIVED = makeRsaCertificate({ commonName: "short", validFrom: "260101000000Z", validTo: "260102000000Z" });

describe("PayPal", () => {
  const input: AuthInput = {
    from: "header:paypal-transmission-sig",
    encoding: "base64",
    algorithm: { from: "header:paypal-auth-algo", values: { SHA256withRSA: "rsa-sha256" } },
    content: "{header:paypal-transmission-id}|{header:paypal-transmission-time}|WEBHOOK-ID|{crc32}",
    certificate: { from: "header:paypal-cert-url", hosts: ["api.paypal.com", "api.sandbox.paypal.com"] },
  };

  it("signs the checksum of the body", () => {
    const body = '{"id":"WH-1"}';
    // CRC-32 of the body, from the standard's own polynomial, bit by bit.
    let crc = 0xffffffff;
    for (const byte of Buffer.from(body)) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    const text = `id-1|2026-11-20T12:00:00Z|WEBHOOK-ID|${(crc ^ 0xffffffff) >>> 0}`;
    const headers = {
      "paypal-transmission-id": "id-1",
      "paypal-transmission-time": "2026-11-20T12:00:00Z",
      "paypal-auth-algo": "SHA256withRSA",
      "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-1",
      "paypal-transmission-sig": sign("sha256", Buffer.from(text), RSA.privateKey).toString("base64"),
    };
    const remoteKeys = { ...contextOf().remoteKeys, certificate: () => RSA.pem };
    const verifier = verifierOf(input, { remoteKeys });
    expect(outcome(verifier.verify(callOf({ headers, body })) as Verification)).toBe(true);
    expect(outcome(verifier.verify(callOf({ headers, body: '{"id":"WH-2"}' })) as Verification)).toBe(
      "no signature matches",
    );
  });
});
