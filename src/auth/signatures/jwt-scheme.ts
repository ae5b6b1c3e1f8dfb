import { createHash, createSecretKey, hash, timingSafeEqual, type KeyObject } from "node:crypto";
import { jwtVerify } from "jose";
import { TOKEN_ALGORITHMS } from "../../config/auth/secrets.ts";
import type { BodyDigest, JwtAuth, SharedJwtAuth } from "../../config/auth/schema.ts";
import { requestViewOf } from "../request-view.ts";
import { CLOCK_TOLERANCE_SECONDS, jwtRefusalReason, MAX_TOKEN_LENGTH, withoutPrototype } from "../keys/jwks-source.ts";
import { compileSource } from "../value-source.ts";
import type { IncomingRequest, JwtVerification, RemoteKeys, SchemeVerifier, Verification } from "../verifier.ts";
import { credentialId } from "./algorithm.ts";
import { decodeBytes } from "./decode-bytes.ts";

/** The part of a scheme's context that tokens need. */
interface TokenContext {
  readonly route: string;
  readonly remoteKeys: RemoteKeys;
}

/** Longest time that a copy is remembered, whatever the token says. */
const MAX_REPLAY_MS = 31_536_000_000;

/**
 * Compiles the verifier of a route whose sender presents a token of an identity provider (RFC 7519).
 * The first source of `from` that has a token behind the prefix (any case) is taken. Begins to fetch the
 * provider's keys. Throws a TypeError when nothing could ever be accepted, or too much would be.
 */
export function compileJwt(auth: JwtAuth, { route, remoteKeys }: TokenContext): SchemeVerifier {
  const { issuer, audience } = auth;
  if (audience.trim() === "") throw new TypeError("A token's audience must be configured.");
  if (issuer.length === 0) throw new TypeError("A token's issuer must be configured.");
  const read = compileToken(auth);
  const refuseClaims = compileClaims(auth);
  const keys = remoteKeys.jwks(auth.jwksUrl);

  return {
    async verify(call): Promise<Verification> {
      const token = read(call);
      if (token === undefined) return NO_TOKEN;
      const verified = await keys.verify(token, { issuer, audience, now: call.receivedAt });
      if (!verified.ok) return verified;
      const reason = refuseClaims(verified.claims, call);
      if (reason !== undefined) return { ok: false, reason };
      return {
        ok: true,
        credentialId: credentialIdOf(route, verified.claims),
        replay: { digest: digestOf(route, token, call), expiresAt: expiryOf(verified.claims["exp"], call.receivedAt) },
      };
    },
  };
}

const DAY_MS = 86_400_000;

/**
 * Compiles the verifier of a route whose sender signs a token with a shared secret. A token without an end
 * is taken only when it holds a digest of the body: it could be sent with any other body forever. Throws a
 * TypeError for data that can never verify anything.
 */
export function compileSharedJwt(auth: SharedJwtAuth, { route }: Pick<TokenContext, "route">): SchemeVerifier {
  const { secrets, issuer, audience, bodyDigest } = auth;
  const algorithm = TOKEN_ALGORITHMS.get(auth.algorithm);
  if (algorithm === undefined) throw new TypeError("auth.algorithm is none that signs tokens with a shared secret.");
  if (secrets.length === 0 || secrets.includes("")) throw new TypeError("auth.secret is missing.");
  const read = compileToken(auth);
  const refuseClaims = compileClaims(auth);
  const keys = secrets.map((secret) => ({ key: createSecretKey(secret, "utf8"), id: credentialId(route, secret) }));
  const expected = {
    algorithms: [algorithm],
    ...(issuer.length === 0 ? {} : { issuer: [...issuer] }),
    ...(audience === "" ? {} : { audience }),
    requiredClaims: bodyDigest === undefined ? ["exp"] : [],
  };

  return {
    async verify(call): Promise<Verification> {
      const token = read(call);
      if (token === undefined) return NO_TOKEN;
      if (token.length > MAX_TOKEN_LENGTH) return { ok: false, reason: "The token is too long." };
      let failure: Verification = { ok: false, reason: "The token's signature is wrong." };
      for (const { key, id } of keys) {
        const verified = await verifyShared(token, key, { ...expected, now: call.receivedAt });
        if (!verified.ok) {
          failure = verified;
          continue;
        }
        const reason = refuseClaims(verified.claims, call);
        if (reason !== undefined) return { ok: false, reason };
        const { exp } = verified.claims;
        const expiresAt = exp === undefined ? call.receivedAt + DAY_MS : expiryOf(exp, call.receivedAt);
        return { ok: true, credentialId: id, replay: { digest: digestOf(route, token, call), expiresAt } };
      }
      return failure;
    },
  };
}

interface ExpectedToken {
  readonly algorithms: string[];
  readonly issuer?: string[];
  readonly audience?: string;
  readonly requiredClaims: string[];
  readonly now: number;
}

async function verifyShared(token: string, key: KeyObject, expected: ExpectedToken): Promise<JwtVerification> {
  const { now, ...rest } = expected;
  try {
    const options = { ...rest, currentDate: new Date(now), clockTolerance: CLOCK_TOLERANCE_SECONDS };
    const { payload } = await jwtVerify(token, key, options);
    return { ok: true, claims: withoutPrototype(payload) };
  } catch (error) {
    return { ok: false, reason: jwtRefusalReason(error) };
  }
}

const NO_TOKEN: Verification = Object.freeze({ ok: false, reason: "The request carries no token." });

/** Compiles where a request has its token. */
function compileToken({
  from,
  prefix,
}: Pick<JwtAuth, "from" | "prefix">): (call: IncomingRequest) => string | undefined {
  if (from.length === 0) throw new TypeError("A token's place in the request must be configured.");
  const sources = from.map((source) => compileSource(source));
  return (call) => {
    const view = requestViewOf(call);
    return sources.map((read) => withoutPrefix(read(view), prefix)).find((found) => found !== undefined);
  };
}

type Claims = Readonly<Record<string, unknown>>;

/** Compiles why the claims of a good token are not those that are wanted, the digest of the body among them. */
function compileClaims({
  claims,
  bodyDigest,
}: Pick<SharedJwtAuth, "claims"> & { readonly bodyDigest?: BodyDigest | undefined }): (
  found: Claims,
  call: IncomingRequest,
) => string | undefined {
  const wanted = Object.entries(claims);
  const digest = bodyDigest && { ...bodyDigest, claim: bodyDigest.from.slice("claim:".length) };
  return (found, { body }) => {
    for (const [name, value] of wanted) {
      if (!Object.hasOwn(found, name) || found[name] !== value) return wrongClaim(name);
    }
    if (digest === undefined) return undefined;
    const written = Object.hasOwn(found, digest.claim) ? found[digest.claim] : undefined;
    const bytes = typeof written === "string" ? decodeBytes(written, digest.encoding) : undefined;
    const own = hash(digest.algorithm, body, "buffer");
    return bytes?.length === own.length && timingSafeEqual(bytes, own) ? undefined : wrongClaim(digest.claim);
  };
}

function wrongClaim(name: string): string {
  return `The token's claim "${name}" is missing or wrong.`;
}

/** The token behind the prefix; `undefined` when there is none. */
function withoutPrefix(value: string | undefined, prefix: string): string | undefined {
  if (value?.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return undefined;
  return value.slice(prefix.length).trim() || undefined;
}

function credentialIdOf(route: string, { iss, sub, email }: Readonly<Record<string, unknown>>): string {
  const parts = ["reveille-credential", "jwt", route, iss, sub ?? email ?? ""];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

/** Of what the token signs, not of its signature, which can be written in several ways. */
function digestOf(route: string, token: string, { body }: IncomingRequest): Uint8Array {
  const signed = token.slice(0, token.lastIndexOf("."));
  return createHash("sha256")
    .update(JSON.stringify(["reveille-replay", "jwt", route, signed]))
    .update(body)
    .digest();
}

/** A second after the moment from which the token is refused as expired. */
function expiryOf(exp: unknown, receivedAt: number): number {
  const expiresAt = (Math.ceil(Number(exp)) + CLOCK_TOLERANCE_SECONDS + 1) * 1000;
  return Math.min(expiresAt, receivedAt + MAX_REPLAY_MS);
}
