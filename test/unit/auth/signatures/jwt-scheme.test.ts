import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRemoteKeys } from "../../../../src/auth/keys/remote-keys.ts";
import { compileJwt, compileSharedJwt } from "../../../../src/auth/signatures/jwt-scheme.ts";
import type { IncomingRequest, Verification, Verified } from "../../../../src/auth/verifier.ts";
import type { JwtAuth, SharedJwtAuth } from "../../../../src/config/auth/schema.ts";
import { json, keepingLogger, startKeyServer, testClock, text } from "../keys/key-server.ts";
import { AUDIENCE, ISSUER, keySet, makeKey, signToken } from "../keys/make-token.ts";
import type { ProviderKey } from "../keys/make-token.ts";
import { PATIENT_BOUNDS } from "../keys/patient-bounds.ts";

const NO_TOKEN: Verification = { ok: false, reason: "The request carries no token." };
const BODY = Buffer.from('{"message":{"messageId":"1"}}');

let key: ProviderKey;

beforeAll(async () => {
  key = await makeKey("first");
});

/** A route that takes tokens of a provider with one key. */
async function tokenRoute(auth: Partial<JwtAuth> = {}, { route = "mail", answer = json(keySet(key)) } = {}) {
  const server = await startKeyServer(answer);
  const clock = testClock();
  const remoteKeys = createRemoteKeys({
    clock,
    logger: keepingLogger(),
    allowLoopback: true,
    bounds: PATIENT_BOUNDS,
  });
  onTestFinished(() => remoteKeys.close());
  const compile = (changes: Partial<JwtAuth> = {}, path = route) =>
    compileJwt(
      {
        scheme: "jwt",
        from: ["header:authorization"],
        prefix: "Bearer ",
        jwksUrl: `${server.origin}/certs`,
        issuer: [ISSUER],
        audience: AUDIENCE,
        claims: {},
        ...auth,
        ...changes,
      },
      { route: path, remoteKeys },
    );
  return { server, clock, compile, verifier: compile(), now: clock.now() };
}

function callWith(changes: Partial<IncomingRequest>): IncomingRequest {
  return {
    method: "POST",
    target: "/hooks/mail",
    headers: {},
    body: BODY,
    receivedAt: testClock().now(),
    pathSecret: undefined,
    ...changes,
  };
}

const bearing = (token: string, changes: Partial<IncomingRequest> = {}) =>
  callWith({ headers: { authorization: `Bearer ${token}` }, ...changes });

async function verified(verification: Verification | Promise<Verification>): Promise<Verified> {
  const result = await verification;
  expect(result).toMatchObject({ ok: true });
  return result as Verified;
}

describe("a route that takes tokens", () => {
  test("a good token is verified", async () => {
    const { verifier, now } = await tokenRoute();
    const token = await signToken(key, { now });
    const signed = token.split(".").slice(0, 2).join(".");
    expect(await verifier.verify(bearing(token))).toEqual({
      ok: true,
      credentialId: createHash("sha256")
        .update(JSON.stringify(["reveille-credential", "jwt", "mail", ISSUER, "1234"]))
        .digest("hex")
        .slice(0, 16),
      replay: {
        digest: createHash("sha256")
          .update(JSON.stringify(["reveille-replay", "jwt", "mail", signed]))
          .update(BODY)
          .digest(),
        expiresAt: now + (3600 + 31) * 1000,
      },
    });
  });

  test("the keys are fetched when the route is compiled", async () => {
    const { verifier, server, now } = await tokenRoute();
    const token = await signToken(key, { now });
    await verifier.verify(bearing(token));
    await verifier.verify(bearing(token));
    expect(server.asked).toEqual(["/certs"]);
  });

  test("a provider that is down refuses the token for now, not the configuration", async () => {
    const { verifier } = await tokenRoute({}, { answer: text("down", 503) });
    expect(await verifier.verify(bearing("token"))).toEqual({
      ok: false,
      reason: "The keys of the identity provider are not there yet.",
      retryAfterSeconds: 5,
    });
  });

  test.each([
    ["another issuer", { iss: "https://accounts.example.org" }, 'The token\'s claim "iss" is missing or wrong.'],
    ["another audience", { aud: "https://other.example.com" }, 'The token\'s claim "aud" is missing or wrong.'],
    ["an expiry in the past", { exp: 1_000_000 }, "The token has expired."],
  ])("%s is refused", async (_what, claims, reason) => {
    const { verifier, now } = await tokenRoute();
    expect(await verifier.verify(bearing(await signToken(key, { now, claims })))).toEqual({ ok: false, reason });
  });

  test("the time is that at which the call was received", async () => {
    const { verifier, now } = await tokenRoute();
    const token = await signToken(key, { now });
    expect((await verifier.verify(bearing(token, { receivedAt: now + 3_629_999 }))).ok).toBe(true);
    expect((await verifier.verify(bearing(token, { receivedAt: now + 3_630_000 }))).ok).toBe(false);
  });
});

describe("where the token stands", () => {
  test.each(["Bearer ", "bearer ", "BEARER ", "Bearer   ", "bEaReR \t"])("behind %j it is found", async (prefix) => {
    const { verifier, now } = await tokenRoute();
    const token = await signToken(key, { now });
    expect((await verifier.verify(callWith({ headers: { authorization: `${prefix}${token} ` } }))).ok).toBe(true);
  });

  test.each([
    ["no header", undefined],
    ["an empty header", ""],
    ["the prefix alone", "Bearer "],
    ["the prefix and blanks", "Bearer    "],
    ["the prefix without its blank", "Bearer"],
    ["another prefix", "Basic token"],
    ["no prefix", "token"],
  ])("%s is no token", async (_what, authorization) => {
    const { verifier } = await tokenRoute();
    const headers = authorization === undefined ? {} : { authorization };
    expect(await verifier.verify(callWith({ headers }))).toEqual(NO_TOKEN);
  });

  test("a token without the prefix is not taken", async () => {
    const { verifier, now } = await tokenRoute();
    const token = await signToken(key, { now });
    expect(await verifier.verify(callWith({ headers: { authorization: token } }))).toEqual(NO_TOKEN);
    expect(await verifier.verify(callWith({ headers: { authorization: `Bearer${token}` } }))).toEqual(NO_TOKEN);
  });

  test("without a prefix the whole value is the token", async () => {
    const { verifier, now } = await tokenRoute({ from: ["header:x-token"], prefix: "" });
    const token = await signToken(key, { now });
    expect((await verifier.verify(callWith({ headers: { "x-token": token } }))).ok).toBe(true);
    expect(await verifier.verify(callWith({ headers: { "x-token": " " } }))).toEqual(NO_TOKEN);
    expect(await verifier.verify(callWith({ headers: {} }))).toEqual(NO_TOKEN);
  });

  test("it may be in the query and in the body", async () => {
    const { verifier, now } = await tokenRoute({ from: ["query:token", "body:validation.token"], prefix: "" });
    const token = await signToken(key, { now });
    const body = Buffer.from(JSON.stringify({ validation: { token } }));
    const headers = { "content-type": "application/json" };
    expect((await verifier.verify(callWith({ target: `/hooks/mail?token=${token}` }))).ok).toBe(true);
    expect((await verifier.verify(callWith({ headers, body }))).ok).toBe(true);
    expect(await verifier.verify(callWith({ headers }))).toEqual(NO_TOKEN);
  });

  test("of several places the first that has one counts", async () => {
    const { verifier, now } = await tokenRoute({ from: ["header:x-first", "header:x-second"] });
    const good = `Bearer ${await signToken(key, { now })}`;
    const ask = async (headers: Record<string, string>) => (await verifier.verify(callWith({ headers }))).ok;
    expect(await ask({ "x-first": good, "x-second": "Bearer wrong" })).toBe(true);
    expect(await ask({ "x-first": "Basic wrong", "x-second": good })).toBe(true);
    expect(await ask({ "x-first": "Bearer wrong", "x-second": good })).toBe(false);
  });
});

describe("claims", () => {
  const claims = { email: "pubsub@example.com", email_verified: true };

  test("all must be as they are configured", async () => {
    const { verifier, now } = await tokenRoute({ claims });
    expect((await verifier.verify(bearing(await signToken(key, { now, claims })))).ok).toBe(true);
  });

  test.each([
    ["email", "another value", { ...claims, email: "mallory@example.com" }],
    ["email", "another case", { ...claims, email: "Pubsub@example.com" }],
    ["email", "a list that holds it", { ...claims, email: [claims.email] }],
    ["email", "nothing", { email_verified: true }],
    ["email_verified", "false", { ...claims, email_verified: false }],
    ["email_verified", "the text", { ...claims, email_verified: "true" }],
    ["email_verified", "nothing", { email: claims.email }],
  ])("%s with %s is refused", async (claim, _what, wrong) => {
    const { verifier, now } = await tokenRoute({ claims });
    expect(await verifier.verify(bearing(await signToken(key, { now, claims: wrong })))).toEqual({
      ok: false,
      reason: `The token's claim "${claim}" is missing or wrong.`,
    });
  });
});

describe("the credential", () => {
  const idOf = async (claims: object, path = "mail", issuer = ISSUER) => {
    const { compile, now } = await tokenRoute({ issuer: [issuer] });
    const token = await signToken(key, { now, claims: { iss: issuer, ...claims } });
    return (await verified(compile({}, path).verify(bearing(token)))).credentialId;
  };

  test("it is one for all tokens of a subject, and says nothing of it", async () => {
    const id = await idOf({ sub: "a", email: "a@example.com" });
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(await idOf({ sub: "a", email: "b@example.com", jti: "2" })).toBe(id);
  });

  test("other subjects, issuers and routes have others", async () => {
    const ids = [
      await idOf({ sub: "a" }),
      await idOf({ sub: "b" }),
      await idOf({ sub: "a" }, "other"),
      await idOf({ sub: "a" }, "mail", "https://accounts.example.org"),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  test("the mail address replaces a missing subject, and the issuer replaces both", async () => {
    const none = { sub: undefined };
    const id = await idOf({ ...none, email: "a@example.com" });
    expect(id).not.toBe(await idOf({ ...none, email: "b@example.com" }));
    expect(id).toBe(await idOf({ sub: "a@example.com" }));
    expect(await idOf(none)).toBe(await idOf({ sub: "" }));
    expect(await idOf(none)).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe("the sign of a replay", () => {
  const markOf = async (verification: Verification | Promise<Verification>) => (await verified(verification)).replay!;
  const digestOf = async (verification: Verification | Promise<Verification>) =>
    Buffer.from((await markOf(verification)).digest).toString("hex");

  test("it is the same for a copy, and another one for another body, token or route", async () => {
    const { verifier, compile, now } = await tokenRoute();
    const token = await signToken(key, { now });
    const digest = await digestOf(verifier.verify(bearing(token)));
    expect(digest.length).toBe(64);
    expect(await digestOf(verifier.verify(bearing(token, { target: "/hooks/mail?again", method: "PUT" })))).toBe(
      digest,
    );
    const other = await signToken(key, { now, claims: { jti: "2" } });
    const digests = [
      await digestOf(verifier.verify(bearing(token, { body: Buffer.from("{}") }))),
      await digestOf(verifier.verify(bearing(other))),
      await digestOf(compile({}, "other").verify(bearing(token))),
    ];
    expect(new Set([digest, ...digests]).size).toBe(4);
  });

  test("it is the same for the other signature that an ECDSA signature has", async () => {
    const own = await makeKey("own", "ES256");
    const { verifier, now } = await tokenRoute({}, { answer: json(keySet(own)) });
    const token = await signToken(own, { now });
    const [header, claims, signature] = token.split(".") as [string, string, string];
    const bytes = Buffer.from(signature, "base64url");
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const mirrored = (order - BigInt(`0x${bytes.subarray(32).toString("hex")}`)).toString(16).padStart(64, "0");
    const twin = Buffer.concat([bytes.subarray(0, 32), Buffer.from(mirrored, "hex")]).toString("base64url");
    expect(twin).not.toBe(signature);
    expect(await digestOf(verifier.verify(bearing(`${header}.${claims}.${twin}`)))).toBe(
      await digestOf(verifier.verify(bearing(token))),
    );
  });

  test("it lasts until the token is refused anyway, a fraction of a second counted as a whole one", async () => {
    const { verifier, now } = await tokenRoute();
    const expiry = async (exp: number) =>
      (await markOf(verifier.verify(bearing(await signToken(key, { now, claims: { exp } }))))).expiresAt;
    expect(await expiry(now / 1000 + 60)).toBe(now + 91_000);
    expect(await expiry(now / 1000 + 60.5)).toBe(now + 92_000);
  });

  test.each([1e300, 9_999_999_999])("it lasts at most a year when the token is good until %d", async (exp) => {
    const { verifier, now } = await tokenRoute();
    const { expiresAt } = await markOf(verifier.verify(bearing(await signToken(key, { now, claims: { exp } }))));
    expect(expiresAt).toBe(now + 31_536_000_000);
  });
});

describe("what is refused with the configuration", () => {
  test.each([
    ["no audience", { audience: "" }, "A token's audience must be configured."],
    ["a blank audience", { audience: " " }, "A token's audience must be configured."],
    ["no issuer", { issuer: [] }, "A token's issuer must be configured."],
    ["no place", { from: [] }, "A token's place in the request must be configured."],
    ["no URL of keys", { jwksUrl: "" }, "No keys can be fetched: its URL cannot be read."],
    [
      "a URL of keys without TLS",
      { jwksUrl: "http://keys.example.com/" },
      "No keys can be fetched: its URL does not begin with https://.",
    ],
  ])("%s", async (_what, changes, reason) => {
    const { compile } = await tokenRoute();
    expect(() => compile(changes)).toThrow(new TypeError(reason));
  });
});

describe("a route whose sender signs its tokens with a shared secret", () => {
  const SECRET = "a secret of the sender";
  const sha256 = createHash("sha256").update(BODY).digest("hex");
  const now = testClock().now();
  const compile = (changes: Partial<SharedJwtAuth> = {}) =>
    compileSharedJwt(
      {
        scheme: "jwt",
        secrets: [SECRET],
        algorithm: "hmac-sha256",
        from: ["header:authorization"],
        prefix: "Bearer ",
        issuer: [],
        audience: "",
        claims: {},
        bodyDigest: { from: "claim:sha256", algorithm: "sha256", encoding: "hex" },
        ...changes,
      },
      { route: "shared" },
    );
  const sign = (claims: Readonly<Record<string, unknown>>, { secret = SECRET, alg = "HS256" } = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
  const answer = async (claims: Readonly<Record<string, unknown>>, changes: Partial<SharedJwtAuth> = {}) =>
    compile(changes).verify(bearing(await sign(claims)));

  test("a token with the digest of the body is good, and its copy is known for a day", async () => {
    const { replay, credentialId } = await verified(await answer({ sha256 }));
    expect(replay!.expiresAt).toBe(now + 86_400_000);
    expect(await answer({ sha256 }, { secrets: ["an older secret of it", SECRET] })).toEqual({
      ok: true,
      credentialId,
      replay,
    });
    expect((await verified(await answer({ sha256, exp: now / 1_000 + 60 }))).replay!.expiresAt).toBe(now + 91_000);
  });

  test("a token without the digest of a body must have an end", async () => {
    const open = { bodyDigest: undefined };
    expect(await answer({}, open)).toEqual({ ok: false, reason: 'The token\'s claim "exp" is missing or wrong.' });
    expect(await answer({ exp: now / 1_000 + 60 }, open)).toMatchObject({ ok: true });
    expect(await answer({ exp: now / 1_000 - 60 }, open)).toEqual({ ok: false, reason: "The token has expired." });
  });

  test.each<[string, object, Partial<SharedJwtAuth>, string]>([
    ["another digest", { sha256: sha256.replaceAll("a", "b") }, {}, 'The token\'s claim "sha256" is missing or wrong.'],
    ["a digest that is no text", { sha256: [sha256] }, {}, 'The token\'s claim "sha256" is missing or wrong.'],
    ["no digest", {}, {}, 'The token\'s claim "sha256" is missing or wrong.'],
    ["no issuer", { sha256 }, { issuer: ["me"] }, 'The token\'s claim "iss" is missing or wrong.'],
    ["another audience", { sha256, aud: "you" }, { audience: "me" }, 'The token\'s claim "aud" is missing or wrong.'],
    [
      "another claim",
      { sha256, kind: "b" },
      { claims: { kind: "a" } },
      'The token\'s claim "kind" is missing or wrong.',
    ],
    ["another secret", { sha256 }, { secrets: ["another secret"] }, "The token's signature is wrong."],
    [
      "another algorithm",
      { sha256 },
      { algorithm: "hmac-sha512" },
      "The token is signed with an algorithm that is not allowed.",
    ],
  ])("a token with %s is refused", async (_what, claims, changes, reason) => {
    expect(await answer({ ...claims }, changes)).toEqual({ ok: false, reason });
  });

  test("no token, one that is too long and one without a signature are refused", async () => {
    expect(await compile().verify(callWith({}))).toEqual(NO_TOKEN);
    expect(await compile().verify(bearing("a".repeat(20_000)))).toEqual({
      ok: false,
      reason: "The token is too long.",
    });
    const [, payload] = (await sign({ sha256 })).split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    expect(await compile().verify(bearing(none))).toMatchObject({ ok: false });
  });

  test.each<[Partial<SharedJwtAuth>, string]>([
    [{ secrets: [] }, "auth.secret is missing."],
    [{ secrets: [""] }, "auth.secret is missing."],
    [{ from: [] }, "A token's place in the request must be configured."],
    [{ algorithm: "rsa-sha256" }, "auth.algorithm is none that signs tokens with a shared secret."],
  ])("%j is refused with the configuration", (changes, reason) => {
    expect(() => compile(changes)).toThrow(new TypeError(reason));
  });
});
