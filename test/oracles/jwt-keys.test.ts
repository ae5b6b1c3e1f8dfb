/**
 * Tokens as Pub/Sub pushes them, held against Google's own theirs: what it accepts we accept, what it
 * refuses we refuse, with the same keys in both of the ways in which Google publishes them.
 */
import { JWTAccess, OAuth2Client } from "google-auth-library";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRemoteKeys } from "../../src/auth/keys/remote-keys.ts";
import { compileJwt } from "../../src/auth/signatures/jwt-scheme.ts";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import { googlePubsub } from "../../src/presets/senders/google/google-pubsub.ts";
import { NOW } from "../../src/testing/preset-probe.ts";
import { json, keepingLogger, startKeyServer } from "../unit/auth/keys/key-server.ts";
import { keySet, rawToken, signToken } from "../unit/auth/keys/make-token.ts";
import type { ProviderKey } from "../unit/auth/keys/make-token.ts";
import { fixedKey, fixedProviderKey, publicPem } from "./fixed-keys.ts";
import { recordVectors } from "./record-vectors.ts";
import { PATIENT_BOUNDS } from "../unit/auth/keys/patient-bounds.ts";

const AUDIENCE = "https://gateway.example.com/hooks/google-pubsub";
const EMAIL = "pubsub-push@example.iam.gserviceaccount.com";
const ISSUERS = ["accounts.google.com", "https://accounts.google.com"];
/** What a push token of Pub/Sub claims beside its times. */
const CLAIMS = {
  iss: "https://accounts.google.com",
  aud: AUDIENCE,
  azp: "113774264463038321964",
  sub: "113774264463038321964",
  email: EMAIL,
  email_verified: true,
};
const BODY = Buffer.from(JSON.stringify({ message: { data: "e30=", messageId: "1" }, subscription: "projects/p" }));

const ACCEPTED = { google: true, reveille: true, preset: true };
const REFUSED = { google: false, reveille: false, preset: false };

let key: ProviderKey;
let otherKey: ProviderKey;
let certificates: Record<string, string>;

beforeAll(async () => {
  key = await fixedProviderKey("b3319a147514df7ee5e4bcdee51350cc890cc89e");
  otherKey = await fixedProviderKey("other", "another-rsa");
  certificates = { [key.kid]: publicPem() };
});

const recorder = recordVectors(googlePubsub, "google-auth-library", {
  name: "google-tokens",
  fetch: (url) => (url === "https://www.googleapis.com/oauth2/v3/certs" ? JSON.stringify(keySet(key)) : undefined),
});

/** Whether Google's library accepts the token. */
async function acceptedByGoogle(token: string): Promise<boolean> {
  const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, AUDIENCE, ISSUERS);
  return ticket.getPayload()?.email === EMAIL && ticket.getPayload()?.email_verified === true;
}

/** Whether a route for Pub/Sub accepts the token. */
async function acceptedByUs(token: string): Promise<boolean> {
  const server = await startKeyServer(json(keySet(key), { "cache-control": "public, max-age=20000" }));
  const remoteKeys = createRemoteKeys({
    clock: Date,
    logger: keepingLogger(),
    allowLoopback: true,
    bounds: PATIENT_BOUNDS,
  });
  onTestFinished(() => remoteKeys.close());
  const verifier = compileJwt(
    {
      scheme: "jwt",
      from: ["header:authorization"],
      prefix: "Bearer ",
      jwksUrl: `${server.origin}/oauth2/v3/certs`,
      issuer: ISSUERS,
      audience: AUDIENCE,
      claims: { email: EMAIL, email_verified: true },
    },
    { route: "google-pubsub", remoteKeys },
  );
  return (await verifier.verify(callWith(token))).ok;
}

function callWith(token: string): IncomingRequest {
  return {
    method: "POST",
    target: "/hooks/google-pubsub",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: BODY,
    receivedAt: NOW,
    pathSecret: undefined,
  };
}

/** Of Google's library, of a route with a key server of its own, and of the preset. */
async function verdicts(token: string): Promise<{ google: boolean; reveille: boolean; preset: boolean }> {
  const settings = { audience: AUDIENCE, serviceAccount: EMAIL };
  const { we, sdk } = await recorder.judge(callWith(token), { settings }, () => acceptedByGoogle(token));
  return { google: sdk, reveille: await acceptedByUs(token), preset: we };
}

const pushToken = (claims: object = {}, signer = key) =>
  signToken(signer, { now: Date.now(), claims: { ...CLAIMS, ...claims } });

/** The token with one character of a part (0 header, 1 claims, 2 signature) changed. */
function tampered(token: string, part: number): string {
  const parts = token.split(".");
  const text = parts[part]!;
  const at = Math.floor(text.length / 2);
  parts[part] = `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
  return parts.join(".");
}

describe("a push token of Pub/Sub, by Google's library and by Reveille", () => {
  test("a good one is accepted by both", async () => {
    expect(await verdicts(await pushToken())).toEqual(ACCEPTED);
  });

  test("the issuer's other name is accepted by both", async () => {
    expect(await verdicts(await pushToken({ iss: "accounts.google.com" }))).toEqual(ACCEPTED);
  });

  test.each([
    ["header", 0],
    ["claims", 1],
    ["signature", 2],
  ])("one whose %s was changed is refused by both", async (_what, part) => {
    expect(await verdicts(tampered(await pushToken(), part))).toEqual(REFUSED);
  });

  test.each([
    ["for another audience", { aud: "https://gateway.example.com/hooks/other" }],
    ["of another issuer", { iss: "https://accounts.example.com" }],
    ["that has expired", { iat: 1_700_000_000, exp: 1_700_003_600 }],
    ["without an expiry", { exp: undefined }],
    ["of another account", { email: "mallory@example.iam.gserviceaccount.com" }],
    ["of an account that is not verified", { email_verified: false }],
  ])("one %s is refused by both", async (_what, claims) => {
    expect(await verdicts(await pushToken(claims))).toEqual(REFUSED);
  });

  test("one that another key signed is refused by both, under its own name and under the right one", async () => {
    expect(await verdicts(await pushToken({}, otherKey))).toEqual(REFUSED);
    expect(await verdicts(await pushToken({}, { ...otherKey, kid: key.kid }))).toEqual(REFUSED);
  });

  test("one without a signature is refused by both", async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const token = rawToken({ alg: "none", kid: key.kid, typ: "JWT" }, { ...CLAIMS, iat: exp - 3600, exp });
    expect(await verdicts(token)).toEqual(REFUSED);
  });

  test("one with a second signature behind it is refused by both", async () => {
    const token = await pushToken();
    expect(await verdicts(`${token}.${token.split(".")[2]}`)).toEqual(REFUSED);
  });

  test("one that Google's library signs is accepted by both", async () => {
    // It signs as the account it is given; here that is the issuer of push tokens.
    const signer = new JWTAccess("https://accounts.google.com", fixedKey("rsa"), key.kid);
    // Its types know claims of text only.
    const claims: object = { email: EMAIL, email_verified: true };
    const headers = signer.getRequestHeaders(AUDIENCE, claims as Record<string, string>);
    const token = headers.get("authorization")!.slice("Bearer ".length);
    expect(await verdicts(token)).toEqual(ACCEPTED);
    expect(await verdicts(tampered(token, 1))).toEqual(REFUSED);
  });
});
