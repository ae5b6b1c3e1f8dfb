import { createHash } from "node:crypto";
import type { JwtAuth } from "../../config/auth/schema.ts";
import { requestViewOf } from "../request-view.ts";
import { CLOCK_TOLERANCE_SECONDS } from "../keys/jwks-source.ts";
import { compileSource } from "../value-source.ts";
import type { IncomingRequest, RemoteKeys, SchemeVerifier, Verification } from "../verifier.ts";

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
  const { issuer, audience, prefix } = auth;
  if (audience.trim() === "") throw new TypeError("A token's audience must be configured.");
  if (issuer.length === 0) throw new TypeError("A token's issuer must be configured.");
  if (auth.from.length === 0) throw new TypeError("A token's place in the request must be configured.");
  const sources = auth.from.map((source) => compileSource(source));
  const claims = Object.entries(auth.claims);
  const keys = remoteKeys.jwks(auth.jwksUrl);

  return {
    async verify(call): Promise<Verification> {
      const view = requestViewOf(call);
      const token = sources.map((read) => withoutPrefix(read(view), prefix)).find((found) => found !== undefined);
      if (token === undefined) return { ok: false, reason: "The request carries no token." };
      const verified = await keys.verify(token, { issuer, audience, now: call.receivedAt });
      if (!verified.ok) return verified;
      for (const [name, value] of claims) {
        if (!Object.hasOwn(verified.claims, name) || verified.claims[name] !== value) {
          return { ok: false, reason: `The token's claim "${name}" is missing or wrong.` };
        }
      }
      return {
        ok: true,
        credentialId: credentialIdOf(route, verified.claims),
        replay: { digest: digestOf(route, token, call), expiresAt: expiryOf(verified.claims["exp"], call.receivedAt) },
      };
    },
  };
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
