import { hash, timingSafeEqual } from "node:crypto";
import type { BasicAuth } from "../../config/auth-config.ts";
import type { SchemeVerifier } from "../verifier.ts";
import { credentialId } from "./credential-id.ts";
import { decodeBytes } from "./decode-bytes.ts";

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
