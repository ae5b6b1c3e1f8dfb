/** About a hundred senders, each verified as data; what they send is made by hand here, not by our own code. */
import { createHash, createHmac, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { createLocalJWKSet, exportJWK, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { AuthSchema } from "../../../../src/config/auth/schema.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { compileSchemaCheck } from "../../../../src/config/schema-check.ts";
import type { IncomingRequest, RemoteKeys } from "../../../../src/auth/verifier.ts";
import { callOf, contextOf, NOW, outcome, PUBLIC_URL, verifierOf } from "./scheme-bench.ts";
import type { SenderRow, SenderShape } from "./sender-row.ts";
import { HMAC_SENDERS } from "./sender-table-hmac.ts";
import { ED25519, OTHER_SENDERS, P256, RSA } from "./sender-table-other.ts";

const SENDERS: readonly SenderRow[] = [...HMAC_SENDERS, ...OTHER_SENDERS];
const ID = "msg_2Lh9KRb0pzN4LePd3XiA4v12Axj";
const BODY = JSON.stringify({ id: "evt_1", text: "Hello", webhookTimestamp: NOW });
const TARGET = "/hooks/sender?a=1%3A2";

type Sent = Partial<Omit<IncomingRequest, "body">> & { readonly body?: string };

const nameIn = (source: AuthInput["from"]) =>
  String([source].flat()[0])
    .replace(/^header:/, "")
    .toLowerCase();
const headerOf = (source: string | undefined, value: string) =>
  source?.startsWith("header:") ? { [nameIn(source)]: value } : {};

function timeOf({ timestamp }: AuthInput): string {
  if (timestamp?.unit === "iso8601") return new Date(NOW).toISOString();
  return String(timestamp?.unit === "milliseconds" ? NOW : NOW / 1_000);
}

function textOf({ auth, signs }: SenderRow, body: string): string {
  return signs({ method: "POST", url: PUBLIC_URL + TARGET, body, id: ID, time: timeOf(auth) });
}

function hmacOf({ auth, isUpperCase }: SenderRow, text: string): string {
  const key = auth.secret ?? "";
  const bytes = auth.keyEncoding === "whsec" ? Buffer.from(key.slice(6), "base64") : Buffer.from(key);
  const algorithm = typeof auth.algorithm === "string" ? auth.algorithm.slice(5) : "sha256";
  const hmac = createHmac(algorithm, bytes)
    .update(text)
    .digest(auth.encoding ?? "hex");
  return isUpperCase === true ? hmac.toUpperCase() : hmac;
}

/** Headers with a signature, and what else the scheme has in headers. */
function signedHeaders(row: SenderRow, signature: string): Record<string, string> {
  const { from, prefix = "", timestamp, id } = row.auth;
  const value = { [nameIn(from)]: prefix + signature };
  return { ...headerOf(timestamp?.from, timeOf(row.auth)), ...headerOf(id, ID), ...value };
}

const withHmac = (row: SenderRow): Sent => ({
  headers: signedHeaders(row, hmacOf(row, textOf(row, BODY))),
  target: TARGET,
});

/** How each shape is sent. */
const ORACLES: Readonly<Record<SenderShape, (row: SenderRow) => Sent | Promise<Sent>>> = {
  body: withHmac,
  timed: withHmac,
  identified: withHmac,
  url: withHmac,
  pairs(row) {
    const { pair, separator = ",", timestamp, from } = row.auth;
    const timeKey = timestamp?.from?.slice(5) ?? "t";
    const list = [`${timeKey}=${timeOf(row.auth)}`, `${pair}=${hmacOf(row, textOf(row, BODY))}`];
    return { headers: { [nameIn(from)]: list.join(separator) } };
  },
  form(row) {
    const body = "b=Hello&a=2+3";
    const headers = signedHeaders(row, hmacOf(row, textOf(row, body)));
    return { headers: { ...headers, "content-type": "application/x-www-form-urlencoded" }, target: TARGET, body };
  },
  digest(row) {
    const signature = createHash("sha1").update(textOf(row, BODY)).digest("hex");
    return { headers: signedHeaders(row, signature) };
  },
  fields(row) {
    const signature = { timestamp: timeOf(row.auth), token: ID, signature: hmacOf(row, textOf(row, BODY)) };
    return { body: JSON.stringify({ text: "Hello", signature }) };
  },
  "public key"(row) {
    const isEd25519 = row.auth.algorithm === "ed25519";
    const key: KeyObject = isEd25519 ? ED25519.privateKey : P256.privateKey;
    const signature = sign(isEd25519 ? null : "sha256", Buffer.from(textOf(row, BODY)), key);
    return { headers: signedHeaders(row, signature.toString(row.auth.encoding ?? "hex")) };
  },
  certificate(row) {
    const Signature = sign("sha256", Buffer.from(textOf(row, "Hello")), RSA.privateKey).toString("base64");
    const message = {
      Type: "Notification",
      MessageId: ID,
      TopicArn: "arn:aws:sns:us-east-1:1:t",
      Message: "Hello",
      Timestamp: timeOf(row.auth),
      SignatureVersion: "2",
      Signature,
      SigningCertURL: "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem",
    };
    return { body: JSON.stringify(message), headers: { "content-type": "text/plain; charset=UTF-8" } };
  },
  secret({ auth: { secret, from, prefix = "" } }) {
    const [kind, name = ""] = String([from].flat()[0]).split(":");
    if (kind === "header") return { headers: { [name.toLowerCase()]: prefix + secret } };
    if (kind === "query") return { target: `/hooks/sender?${name}=${encodeURIComponent(secret ?? "")}` };
    if (kind === "path") return { pathSecret: secret };
    if (name.startsWith("value[]"))
      return { body: JSON.stringify({ value: [{ clientState: secret }, { clientState: secret }] }) };
    return { body: JSON.stringify({ [name]: secret }) };
  },
  basic({ auth: { username, secret } }) {
    return { headers: { authorization: `Basic ${Buffer.from(`${username}:${secret}`).toString("base64")}` } };
  },
  token({ auth: { issuer, audience, claims } }) {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const payload = { iss: issuer?.[1], aud: audience, exp: NOW / 1_000 + 60, ...claims };
    const text = `${part({ alg: "RS256", kid: "1" })}.${part(payload)}`;
    return {
      headers: {
        authorization: `Bearer ${text}.${sign("sha256", Buffer.from(text), RSA.privateKey).toString("base64url")}`,
      },
    };
  },
};

/** The keys that certificates and tokens are signed with, without a network. */
const REMOTE_KEYS: RemoteKeys = {
  ...contextOf().remoteKeys,
  certificate: (url) => (url.startsWith("https://sns.us-east-1.amazonaws.com/") ? Promise.resolve(RSA.pem) : undefined),
  jwks: () => ({
    async verify(token, { issuer, audience, now }) {
      const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(RSA.publicKey)), kid: "1", alg: "RS256" }] });
      try {
        const { payload } = await jwtVerify(token, keys, { issuer: [...issuer], audience, currentDate: new Date(now) });
        return { ok: true, claims: payload };
      } catch {
        return { ok: false, reason: "the token is not good" };
      }
    },
  }),
};

/** One letter of what proves the request changed: of the body, or of the credential where that says nothing of it. */
function flipped(call: IncomingRequest, shape: SenderShape): IncomingRequest {
  const { headers, body, target, pathSecret } = call;
  const text = Buffer.from(body).toString();
  if (shape === "fields") return { ...call, body: Buffer.from(text.replace("msg_2", "msg_3")) };
  if (shape === "basic")
    return { ...call, headers: { authorization: headers.authorization?.replace("Basic c", "Basic d") } };
  if (shape === "token") return { ...call, headers: { authorization: headers.authorization?.replace(".ey", ".fy") } };
  if (shape !== "secret") return { ...call, body: Buffer.from(text.replace("Hello", "Jello")) };
  const flip = (value: string) => value.replace("shared", "sharee");
  return {
    ...call,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, flip(String(value))])),
    body: Buffer.from(flip(text)),
    target: flip(target),
    pathSecret: pathSecret === undefined ? undefined : flip(pathSecret),
  };
}

const checkAuth = compileSchemaCheck(AuthSchema);

describe("a hundred senders", () => {
  it("are at least 95, each named once", () => {
    expect(new Set(SENDERS.map(({ sender }) => sender)).size).toBe(SENDERS.length);
    expect(SENDERS.length).toBeGreaterThanOrEqual(95);
  });

  it("need no more than 14 shapes, all of which are used", () => {
    const shapes = new Set(SENDERS.map(({ shape }) => shape));
    expect(shapes).toEqual(new Set(Object.keys(ORACLES)));
    expect(shapes.size).toBeLessThanOrEqual(14);
  });

  describe.each(SENDERS)("$sender", (row) => {
    const { auth, shape } = row;
    const verifier = verifierOf(auth, { remoteKeys: REMOTE_KEYS });

    it("is written as the configuration may be", () => {
      expect(checkAuth(auth)).toEqual([]);
    });

    it("is verified, as itself and not when a letter is another", async () => {
      const { body = BODY, ...changes } = await ORACLES[shape](row);
      const call = callOf({ ...changes, body });
      expect(outcome(await verifier.verify(call))).toBe(true);
      const other = flipped(call, shape);
      expect(other).not.toEqual(call);
      expect(outcome(await verifier.verify(other))).toBeTypeOf("string");
    });
  });
});
