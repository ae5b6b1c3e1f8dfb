import { createHmac, createPublicKey } from "node:crypto";
import { exportSPKI, importJWK } from "jose";
import type { CryptoKey } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { readySource, sourceOf } from "./jwks-bench.ts";
import { json, startKeyServer } from "./key-server.ts";
import { AUDIENCE, ISSUER, makeKey, rawToken, signToken } from "./make-token.ts";
import type { ProviderKey } from "./make-token.ts";

let key: ProviderKey;
let newKey: ProviderKey;

beforeAll(async () => {
  key = await makeKey("first");
  newKey = await makeKey("second");
});

describe("tokens", () => {
  test("one that a key of the provider signed is good, and its claims are given", async () => {
    const { verify, clock } = await readySource([key]);
    const token = await signToken(key, { now: clock.now(), claims: { email: "pubsub@example.com" } });
    expect(await verify(token)).toEqual({
      ok: true,
      claims: {
        iss: ISSUER,
        aud: AUDIENCE,
        sub: "1234",
        email: "pubsub@example.com",
        iat: clock.now() / 1000,
        exp: clock.now() / 1000 + 3600,
      },
    });
  });

  test("claims are own properties only", async () => {
    const { verify, clock } = await readySource([key]);
    const verified = await verify(await signToken(key, { now: clock.now() }));
    expect(verified.ok && Object.getPrototypeOf(verified.claims)).toBeNull();
  });

  test.each(["RS256", "ES256", "EdDSA", "PS256"])("%s is taken", async (alg) => {
    const own = await makeKey("own", alg);
    const { verify, clock } = await readySource([key, own]);
    expect((await verify(await signToken(own, { now: clock.now() }))).ok).toBe(true);
  });

  test.each(["RS384", "RS512", "PS384", "PS512", "ES384", "ES512", "Ed25519"])("%s is not", async (alg) => {
    const own = await makeKey("own", alg);
    const { verify, clock } = await readySource([own]);
    expect(await verify(await signToken(own, { now: clock.now() }))).toEqual({
      ok: false,
      reason: "The token is signed with an algorithm that is not allowed.",
    });
  });

  test("any of several issuers may have issued it", async () => {
    const { verify, clock } = await readySource([key]);
    const issuer = ["accounts.example.com", ISSUER];
    expect((await verify(await signToken(key, { now: clock.now() }), { issuer })).ok).toBe(true);
    const other = await signToken(key, { now: clock.now(), claims: { iss: "accounts.example.com" } });
    expect((await verify(other, { issuer })).ok).toBe(true);
  });

  test("it may be for several audiences, of which the expected one is one", async () => {
    const { verify, clock } = await readySource([key]);
    const token = await signToken(key, { now: clock.now(), claims: { aud: ["other", AUDIENCE] } });
    expect((await verify(token)).ok).toBe(true);
  });

  test.each([
    ["another issuer", "iss", { iss: "https://accounts.example.org" }],
    ["an issuer that begins alike", "iss", { iss: `${ISSUER}.evil.example` }],
    ["no issuer", "iss", { iss: undefined }],
    ["another audience", "aud", { aud: "https://gateway.example.com/hooks/other" }],
    ["several other audiences", "aud", { aud: ["a", "b"] }],
    ["no audience", "aud", { aud: undefined }],
    ["no expiry", "exp", { exp: undefined }],
  ])("%s is refused, naming the claim", async (_what, claim, claims) => {
    const { verify, clock } = await readySource([key]);
    expect(await verify(await signToken(key, { now: clock.now(), claims }))).toEqual({
      ok: false,
      reason: `The token's claim "${claim}" is missing or wrong.`,
    });
  });

  test("an issuer is never good when none is expected", async () => {
    const { verify, clock } = await readySource([key]);
    expect((await verify(await signToken(key, { now: clock.now() }), { issuer: [] })).ok).toBe(false);
  });

  test("it is good until 30 seconds after its expiry, for clocks that differ", async () => {
    const { verify, clock } = await readySource([key]);
    const token = await signToken(key, { now: clock.now(), claims: { exp: clock.now() / 1000 + 60 } });
    clock.nowMs += 89_999;
    expect((await verify(token)).ok).toBe(true);
    clock.nowMs += 1;
    expect(await verify(token)).toEqual({ ok: false, reason: "The token has expired." });
  });

  test("it is good from 30 seconds before its beginning", async () => {
    const { verify, clock } = await readySource([key]);
    const token = await signToken(key, { now: clock.now(), claims: { nbf: clock.now() / 1000 + 31 } });
    expect(await verify(token)).toEqual({ ok: false, reason: 'The token\'s claim "nbf" is missing or wrong.' });
    clock.nowMs += 1000;
    expect((await verify(token)).ok).toBe(true);
  });

  test("every flipped byte is refused", async () => {
    const { verify, clock } = await readySource([key]);
    const token = await signToken(key, { now: clock.now() });
    const [header, claims, signature] = token.split(".") as [string, string, string];
    const flipped = signature.startsWith("A") ? "B" : "A";
    const altered = Buffer.from(claims, "base64url").toString().replace("1234", "1235");
    expect(await verify(`${header}.${claims}.${flipped}${signature.slice(1)}`)).toEqual({
      ok: false,
      reason: "The token's signature is wrong.",
    });
    expect(await verify(`${header}.${Buffer.from(altered).toString("base64url")}.${signature}`)).toEqual({
      ok: false,
      reason: "The token's signature is wrong.",
    });
  });

  test("a key of the same name that is not the provider's is refused", async () => {
    const { verify, clock } = await readySource([key]);
    const token = await signToken({ ...newKey, kid: key.kid }, { now: clock.now() });
    expect(await verify(token)).toEqual({ ok: false, reason: "The token's signature is wrong." });
  });

  test.each(["none", "None", "NONE"])("the algorithm %s is refused, with and without a signature", async (alg) => {
    const { verify, clock } = await readySource([key]);
    const claims = { iss: ISSUER, aud: AUDIENCE, exp: clock.now() / 1000 + 60 };
    for (const token of [rawToken({ alg, kid: "first" }, claims), rawToken({ alg }, claims, "c2lnbmF0dXJl")]) {
      expect(await verify(token)).toEqual({
        ok: false,
        reason: "The token is signed with an algorithm that is not allowed.",
      });
    }
  });

  test("the public key is no secret: a token that it signs as HS256 is refused", async () => {
    const { verify, clock } = await readySource([key]);
    const publicKey = (await importJWK(key.jwk, "RS256")) as CryptoKey;
    const spki = await exportSPKI(publicKey);
    const claims = { iss: ISSUER, aud: AUDIENCE, exp: clock.now() / 1000 + 60 };
    const der = createPublicKey(spki).export({ type: "spki", format: "der" });
    for (const secret of [spki, spki.trim(), der, key.jwk.n!, JSON.stringify(key.jwk)]) {
      const unsigned = rawToken({ alg: "HS256", kid: "first" }, claims);
      const signature = createHmac("sha256", secret).update(unsigned.slice(0, -1)).digest("base64url");
      expect(await verify(unsigned + signature)).toEqual({
        ok: false,
        reason: "The token is signed with an algorithm that is not allowed.",
      });
    }
  });

  test("a secret among the provider's keys verifies nothing", async () => {
    const jwk = { kty: "oct", k: Buffer.from("secret").toString("base64url"), kid: "shared", alg: "HS256" };
    const server = await startKeyServer(json({ keys: [key.jwk, jwk] }));
    const { verify, clock } = sourceOf(server.origin);
    const unsigned = rawToken({ alg: "HS256", kid: "shared" }, { iss: ISSUER, aud: AUDIENCE, exp: clock.now() });
    const signature = createHmac("sha256", "secret").update(unsigned.slice(0, -1)).digest("base64url");
    expect((await verify(unsigned + signature)).ok).toBe(false);
  });

  test("one that does not name its key is good when only one key can have signed it", async () => {
    const { verify, clock } = await readySource([key]);
    expect((await verify(await signToken(key, { now: clock.now(), header: { kid: undefined } }))).ok).toBe(true);
  });

  test("one that does not name its key is refused when several can have signed it", async () => {
    const { verify, clock } = await readySource([key, newKey]);
    expect(await verify(await signToken(key, { now: clock.now(), header: { kid: undefined } }))).toEqual({
      ok: false,
      reason: "The token does not say which key signed it.",
    });
  });

  test.each(["", ".", "..", "a.b.c", "not a token", "e30.e30.e30", "\u0000"])("%j cannot be read", async (token) => {
    const { verify } = await readySource([key]);
    const verified = await verify(token);
    expect(verified.ok).toBe(false);
    expect(JSON.stringify(verified)).toMatch(/cannot be read|not allowed/);
  });

  test("one of more than 16,384 characters is not read at all", async () => {
    const { verify, clock } = await readySource([key]);
    const padded = async (size: number) => signToken(key, { now: clock.now(), claims: { pad: "p".repeat(size) } });
    const short = await padded(11_000);
    expect(short.length).toBeLessThanOrEqual(16_384);
    expect((await verify(short)).ok).toBe(true);
    expect(await verify("t".repeat(16_384))).toEqual({ ok: false, reason: "The token cannot be read." });
    expect(await verify("t".repeat(16_385))).toEqual({ ok: false, reason: "The token is too long." });
  });

  test("no reason holds any part of the token", async () => {
    const { verify, clock } = await readySource([key]);
    const claims = { iss: "issuer-of-mallory", aud: "audience-of-mallory", sub: "mallory" };
    for (const wrong of [claims, { ...claims, iss: ISSUER }, { exp: 1 }, { nbf: 99_999_999_999 }]) {
      const verified = await verify(await signToken(key, { now: clock.now(), claims: { ...wrong, sub: "mallory" } }));
      expect(verified.ok).toBe(false);
      expect(JSON.stringify(verified)).not.toContain("mallory");
    }
  });
});
