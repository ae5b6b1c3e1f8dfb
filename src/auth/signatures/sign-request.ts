import { createHmac, createPrivateKey, hash, randomBytes, sign } from "node:crypto";
import { TOKEN_ALGORITHMS } from "../../config/auth/secrets.ts";
import type { AuthConfig, SharedJwtAuth, SignatureAuth } from "../../config/auth/schema.ts";
import { listAt } from "../../core/payload-text.ts";
import { splitPlaceholders } from "../value-source.ts";
import { compileRequestSource } from "./request-source.ts";
import { isForm } from "./content-texts.ts";
import { RequestBuilder } from "./request-builder.ts";
import type { SignedRequest } from "./request-builder.ts";
import { ALGORITHM_SPECS, digestOf, secretKey } from "./algorithm.ts";
import { compileContent, joinContent } from "./signed-content.ts";
import { writeTimestamp } from "./signed-time.ts";

export type { SignedRequest } from "./request-builder.ts";

/** A request on its way to be signed as its sender would. */
export interface UnsignedRequest {
  readonly method: string;
  /** The public URL that the sender was given, with the query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The delivery's id, for schemes that sign one; invented when absent. */
  readonly id?: string;
  /** The shared secret; for asymmetric schemes the private key as PEM; for a `jwt` of an identity provider the token itself. */
  readonly key: string;
}

/**
 * Signs a request as its sender would: the inverse of the scheme's verifier. Time, id, digest, certificate
 * URL and the other values that are signed are put where they belong; those that the request has
 * already are kept, but for the time. Throws a TypeError when the key or the body does not fit the scheme.
 */
export function signRequest(auth: AuthConfig, request: UnsignedRequest): SignedRequest {
  const draft = new RequestBuilder(request);
  switch (auth.scheme) {
    case "jwt":
      draft.put(auth.from[0]!, auth.prefix + ("secrets" in auth ? makeToken(auth, request) : request.key));
      break;
    case "secret":
      draft.put(auth.from[0]!, auth.prefix + request.key);
      break;
    case "basic": {
      const { key } = request;
      const isLogin = auth.secrets.includes(key);
      const login = isLogin ? key : (auth.secrets.find((secret) => secret.endsWith(`:${key}`)) ?? key);
      draft.put("header:authorization", `Basic ${Buffer.from(login).toString("base64")}`);
      break;
    }
    case "signature":
      if (auth.each === undefined) addSignature(auth, draft, request);
      else draft.body = signItems(auth, auth.each, request);
      break;
  }
  return draft.signed;
}

const TOKEN_SECONDS = 300;

/** A token as the sender makes it: it ends soon when no digest ties it to the body. */
function makeToken(auth: SharedJwtAuth, { key, body, now }: UnsignedRequest): string {
  const { issuer, audience, claims, algorithm, bodyDigest } = auth;
  const payload = {
    ...claims,
    ...(issuer.length === 0 ? {} : { iss: issuer[0] }),
    ...(audience === "" ? {} : { aud: audience }),
    ...(bodyDigest === undefined
      ? { exp: Math.floor(now / 1_000) + TOKEN_SECONDS }
      : { [bodyDigest.from.slice("claim:".length)]: hash(bodyDigest.algorithm, body, bodyDigest.encoding) }),
  };
  const parts = [{ alg: TOKEN_ALGORITHMS.get(algorithm), typ: "JWT" }, payload];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const { hash: name } = ALGORITHM_SPECS[algorithm as AlgorithmName];
  return `${signed}.${createHmac(name!, key).update(signed).digest("base64url")}`;
}

/** The body with each item of the list signed as if it were posted alone. */
function signItems(auth: SignatureAuth, list: string, request: UnsignedRequest): Uint8Array {
  const payload = JSON.parse(Buffer.from(request.body).toString("utf8")) as Record<string, unknown>;
  const items = listAt(payload, list).map((item) => {
    const draft = new RequestBuilder({ ...request, body: Buffer.from(JSON.stringify(item)) });
    addSignature(auth, draft, request);
    return JSON.parse(Buffer.from(draft.body).toString("utf8")) as unknown;
  });
  return Buffer.from(JSON.stringify({ ...payload, [list]: items }));
}

function addSignature(auth: SignatureAuth, draft: RequestBuilder, { key, now, id }: UnsignedRequest): void {
  if (auth.timestamp !== undefined) draft.put(auth.timestamp.from, writeTimestamp(now, auth.timestamp.unit));
  if (auth.id !== undefined) fill(draft, auth.id, id, () => `msg_${randomBytes(12).toString("hex")}`);
  if (auth.certificate !== undefined) {
    const [host] = auth.certificate.hosts;
    fill(
      draft,
      auth.certificate.from,
      undefined,
      () => `https://${host!.replaceAll("*", "us-east-1")}/certificate.pem`,
    );
  }
  const algorithm = chooseAlgorithm(auth, draft);
  for (const part of splitPlaceholders(auth.content)) {
    if (typeof part === "string" || part.argument === "" || part.argument.endsWith("?")) continue;
    fill(draft, `${part.name}:${part.argument}`, undefined, () => randomBytes(8).toString("hex"));
  }
  const content = compileContent(auth, draft.origin);
  if (auth.bodyDigest !== undefined && !(content.signsForm && isForm(draft.call))) {
    const { from, algorithm, encoding } = auth.bodyDigest;
    draft.put(from, hash(algorithm, draft.body, encoding));
  }
  const parts = content.read({ call: draft.call, view: draft.view, pairs: draft.pairs });
  if (typeof parts === "string") throw new TypeError(`The request cannot be signed: ${parts}.`);
  const signature = makeSignature(auth, algorithm, joinContent(parts, key), key);
  draft.put(auth.from[0]!, writeSignature(auth, signature.toString(auth.encoding), draft.pairs));
}

/** Puts a value where it belongs; without one, what is there is kept or a new one is made. */
function fill(draft: RequestBuilder, source: string, value: string | undefined, make: () => string): void {
  const { call, view, pairs } = draft;
  const present = compileRequestSource(source)({ call, view, pairs });
  if (value !== undefined || present === undefined) draft.put(source, value ?? make());
}

type AlgorithmName = keyof typeof ALGORITHM_SPECS;

function chooseAlgorithm({ algorithm }: SignatureAuth, draft: RequestBuilder): AlgorithmName {
  if (typeof algorithm === "string") return algorithm;
  const { call, view, pairs } = draft;
  const named = compileRequestSource(algorithm.from)({ call, view, pairs });
  const [name, chosen] =
    Object.entries(algorithm.values).find(([name]) => name === named) ?? Object.entries(algorithm.values)[0]!;
  if (name !== named) draft.put(algorithm.from, name);
  return chosen;
}

function makeSignature(auth: SignatureAuth, algorithm: AlgorithmName, content: Uint8Array, key: string): Buffer {
  const spec = ALGORITHM_SPECS[algorithm];
  if (spec.family === "public") return sign(spec.hash, content, createPrivateKey(key));
  return digestOf(spec, secretKey(key, auth.keyEncoding), content);
}

function writeSignature(auth: SignatureAuth, text: string, pairs: ReadonlyMap<string, string>): string {
  if (auth.pair === undefined) return auth.prefix + text;
  const list = [...pairs, [auth.pair, text]].map(([key, value]) => `${key}=${value}`);
  return auth.prefix + list.join(auth.separator ?? ",");
}
