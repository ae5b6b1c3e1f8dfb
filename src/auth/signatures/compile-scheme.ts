import type { AuthConfig } from "../../config/auth/schema.ts";
import { requestViewOf } from "../request-view.ts";
import { compileSource } from "../value-source.ts";
import type { SchemeContext, SchemeVerifier, Verification } from "../verifier.ts";
import { compileJwt, compileSharedJwt } from "./jwt-scheme.ts";
import { compileBasic, compileSecret } from "./secret-scheme.ts";
import { compileSignature } from "./signature-scheme.ts";

/** Compiles the verifier of a route. Throws a TypeError for data that can never verify anything. */
export function compileScheme(auth: AuthConfig, context: SchemeContext): SchemeVerifier {
  return withRequiredValues(compileOwn(auth, context), auth);
}

function compileOwn(auth: AuthConfig, context: SchemeContext): SchemeVerifier {
  switch (auth.scheme) {
    case "signature":
      return compileSignature(auth, context);
    case "secret":
      return compileSecret(auth, context);
    case "basic":
      return compileBasic(auth, context);
    case "jwt":
      return "secrets" in auth ? compileSharedJwt(auth, context) : compileJwt(auth, context);
  }
}

/**
 * Adds what a request must hold besides what its scheme verifies: certificates and tokens of a big
 * provider are good for every customer of it, and the owner means only some of them. A verifier without
 * requirements is given back as it is.
 */
export function withRequiredValues(verifier: SchemeVerifier, { require = {} }: AuthConfig): SchemeVerifier {
  const required = Object.entries(require).map(([source, values]) => ({
    source,
    read: compileSource(source),
    values: new Set(values),
  }));
  if (required.length === 0) return verifier;

  return {
    verify(call) {
      const judge = (verification: Verification): Verification => {
        if (!verification.ok) return verification;
        const view = requestViewOf(call);
        const missed = required.find(({ read, values }) => !values.has(read(view) ?? ""));
        return missed === undefined ? verification : { ok: false, reason: `${missed.source} is none that is required` };
      };
      const verification = verifier.verify(call);
      return verification instanceof Promise ? verification.then(judge) : judge(verification);
    },
  };
}
