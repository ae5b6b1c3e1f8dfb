/** Schemes put to work without a gateway. */
import { normalizeAuth } from "../../../../src/config/auth/read.ts";
import type { AuthConfig } from "../../../../src/config/auth/schema.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { compileScheme } from "../../../../src/auth/signatures/compile-scheme.ts";
import type { SchemeContext } from "../../../../src/auth/verifier.ts";
import type { SignedRequest } from "../../../../src/auth/signatures/sign-request.ts";
import type { IncomingRequest, SchemeVerifier, Verification } from "../../../../src/auth/verifier.ts";

/** 2026-11-20T12:00:00Z, in milliseconds. */
export const NOW = Date.UTC(2026, 10, 20, 12);
export const NOW_SECONDS = NOW / 1_000;
export const PUBLIC_URL = "https://gateway.example.com";

/** What schemes are compiled with here: a public URL, and nothing that could be fetched or was delivered. */
export function contextOf(changes: Partial<SchemeContext> = {}): SchemeContext {
  return {
    route: "sender",
    publicUrl: PUBLIC_URL,
    remoteKeys: {
      jwks: () => ({ verify: () => Promise.resolve({ ok: false, reason: "no keys" }) }),
      certificate: () => undefined,
      confirm: () => Promise.resolve(false),
      close: () => undefined,
    },
    deliveredKeys: { get: () => undefined, accept: () => Promise.resolve(false) },
    ...changes,
  };
}

/** An `auth` as the configuration hands it over. */
export function authOf(input: AuthInput, options: { deliveredKey?: boolean } = {}): AuthConfig {
  const secrets = [input.secret ?? []].flat().filter((secret) => typeof secret === "string");
  const auth = normalizeAuth(input, secrets, options);
  if (auth === undefined) throw new Error("the scheme takes the hook token");
  return auth;
}

export function verifierOf(input: AuthInput, context: Partial<SchemeContext> = {}): SchemeVerifier {
  return compileScheme(authOf(input), contextOf(context));
}

/** A POST of `Hello, World!` at {@link NOW}, with what is changed of it. */
export function callOf({
  body,
  ...changes
}: Partial<Omit<IncomingRequest, "body">> & { body?: string | Uint8Array } = {}): IncomingRequest {
  return {
    method: "POST",
    target: "/hooks/sender",
    headers: {},
    receivedAt: NOW,
    pathSecret: undefined,
    ...changes,
    body: typeof body === "object" ? body : Buffer.from(body ?? "Hello, World!"),
  };
}

/** A signed request as the gateway receives it. */
export function received(signed: SignedRequest, changes: Partial<IncomingRequest> = {}): IncomingRequest {
  const target = signed.url.replace(/^https?:\/\/[^/]*/, "");
  return { ...callOf({ target, headers: signed.headers, body: signed.body }), ...changes };
}

/** Verifies at once; for schemes that fetch nothing. */
export function verify(verifier: SchemeVerifier, call: IncomingRequest): Verification {
  const verification = verifier.verify(call);
  if (verification instanceof Promise) throw new Error("the scheme does not answer at once");
  return verification;
}

/** What is left to compare of a verification: true, or the reason. */
export function outcome(verification: Verification): true | string {
  return verification.ok ? true : verification.reason;
}
