import type { AuthConfig } from "../../config/auth-config.ts";
import type { SchemeVerifier } from "../verifier.ts";
import { compileBasic } from "./basic-scheme.ts";
import { compileJwt } from "./jwt-scheme.ts";
import type { SchemeContext } from "./scheme-context.ts";
import { withRequiredValues } from "./required-values.ts";
import { compileSecret } from "./secret-scheme.ts";
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
      return compileJwt(auth, context);
  }
}
