/** Keys and tokens of an identity provider, made by jose. */
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK, JWTPayload } from "jose";

export interface ProviderKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  /** As the provider publishes it. */
  readonly jwk: JWK;
}

export const ISSUER = "https://accounts.example.com";
export const AUDIENCE = "https://gateway.example.com/hooks/mail";

/** Makes a key of a provider. */
export async function makeKey(kid: string, alg = "RS256"): Promise<ProviderKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** The set in which a provider publishes its keys. */
export function keySet(...keys: readonly ProviderKey[]): { keys: JWK[] } {
  return { keys: keys.map(({ jwk }) => jwk) };
}

/** Signs a token that is good for an hour from `now` on (milliseconds), with claims and header of one's own. */
export function signToken(
  { kid, alg, privateKey }: ProviderKey,
  { now, claims = {}, header = {} }: { now: number; claims?: JWTPayload; header?: { kid?: string | undefined } },
): Promise<string> {
  const seconds = Math.floor(now / 1000);
  const payload = { iss: ISSUER, aud: AUDIENCE, sub: "1234", iat: seconds, exp: seconds + 3600, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg, kid, typ: "JWT", ...header }).sign(privateKey);
}

/** A token with any header and claims, and a signature as it is given. */
export function rawToken(header: object, claims: object, signature = ""): string {
  const part = (data: object) => Buffer.from(JSON.stringify(data)).toString("base64url");
  return `${part(header)}.${part(claims)}.${signature}`;
}
