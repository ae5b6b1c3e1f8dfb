import { hash, timingSafeEqual } from "node:crypto";
import type { BasicAuth, SecretAuth } from "../../config/auth/schema.ts";
import { requestViewOf } from "../request-view.ts";
import { compileSources, type ReadValues, splitSource } from "../value-source.ts";
import type { IncomingRequest, RequestView, SchemeVerifier, Verification } from "../verifier.ts";
import { nameSource } from "./request-source.ts";
import { decodeBytes } from "./decode-bytes.ts";
import { credentialId } from "./algorithm.ts";

const CREDENTIALS = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const MAX_CHARS = 8_192;

/**
 * Compiles the verifier of a sender that logs in with user name and password (RFC 7617, UTF-8); they are
 * compared by their digests, in constant time. Throws a TypeError for a secret that is not `user:password`.
 */
export function compileBasic(auth: BasicAuth, context: { readonly route: string }): SchemeVerifier {
  if (auth.secrets.length === 0) throw new TypeError("auth.secret is missing.");
  const compiled = auth.secrets.map((secret) => {
    if (!secret.includes(":")) throw new TypeError("auth.secret of basic must be <user>:<password>.");
    return { digest: hash("sha256", secret, "buffer"), id: credentialId(context.route, secret) };
  });
  return {
    verify({ headers: { authorization } }) {
      if (authorization === undefined) return { ok: false, reason: "header authorization is missing" };
      const encoded = authorization.length > MAX_CHARS ? undefined : CREDENTIALS.exec(authorization)?.[1];
      const presented = encoded === undefined ? undefined : decodeBytes(encoded, "base64");
      if (presented === undefined) return { ok: false, reason: "malformed user name and password" };
      const digest = hash("sha256", presented, "buffer");
      let id: string | undefined;
      for (const secret of compiled) {
        if (timingSafeEqual(digest, secret.digest)) id = secret.id;
      }
      return id === undefined
        ? { ok: false, reason: "no user name and password matches" }
        : { ok: true, credentialId: id };
    },
  };
}

/** Names of authentication schemes of HTTP, whose case does not matter (RFC 9110, 11.1). */
const HTTP_SCHEME = /^[A-Za-z][A-Za-z0-9-]* $/;

/**
 * Compiles the verifier of a sender that shows its secret. Of several places any may have it; of a place
 * that names several values each must. Secrets are compared by their digests, in constant time.
 */
export function compileSecret(auth: SecretAuth, context: { readonly route: string }): SchemeVerifier {
  const { secrets, from, prefix } = auth;
  if (secrets.length === 0) throw new TypeError("auth.secret is missing.");
  if (from.length === 0) throw new TypeError("auth.from is missing: it says where the secret stands.");
  const places = from.map((source) => compilePlace(source, prefix));
  const match = compileMatch(secrets, context.route);
  const missing = `${from.map(nameSource).join(", ")} ${from.length === 1 ? "is" : "are"} missing`;
  return {
    verify(call) {
      const view = requestViewOf(call);
      let reason = missing;
      for (const read of places) {
        const values = read(call, view);
        if (values === undefined) continue;
        const id = matchAll(values, match);
        if (id !== undefined) return { ok: true, credentialId: id };
        reason = "no secret matches";
      }
      return { ok: false, reason } satisfies Verification;
    },
  };
}

type ReadPlace = (call: IncomingRequest, view: RequestView) => readonly Uint8Array[] | undefined;

function compilePlace(source: string, prefix: string): ReadPlace {
  const { kind } = splitSource(source);
  const read: ReadValues = compileSources(source);
  const isHttpScheme = HTTP_SCHEME.test(prefix);
  const strip = (value: string): string | undefined => {
    const start = value.slice(0, prefix.length);
    const isThere = isHttpScheme ? start.toLowerCase() === prefix.toLowerCase() : start === prefix;
    return isThere ? value.slice(prefix.length) : undefined;
  };
  return (call, view) => {
    const pathSecret = kind === "path" && call.pathSecret !== undefined ? [call.pathSecret] : undefined;
    const values = pathSecret ?? read(view);
    return values?.map((value) => Buffer.from(strip(value) ?? "", kind === "header" ? "latin1" : "utf8"));
  };
}

type Match = (value: Uint8Array) => string | undefined;

/** Says which secret a value is, after comparing it with all of them. */
function compileMatch(secrets: readonly string[], route: string): Match {
  const compiled = secrets.map((secret) => {
    if (secret === "") throw new TypeError("auth.secret must not be empty.");
    return { digest: hash("sha256", secret, "buffer"), id: credentialId(route, secret) };
  });
  return (value) => {
    const digest = hash("sha256", value, "buffer");
    let id: string | undefined;
    for (const secret of compiled) {
      if (timingSafeEqual(digest, secret.digest)) id = secret.id;
    }
    return id;
  };
}

function matchAll(values: readonly Uint8Array[], match: Match): string | undefined {
  let id: string | undefined;
  for (const value of values) {
    id = match(value);
    if (id === undefined) return undefined;
  }
  return id;
}
