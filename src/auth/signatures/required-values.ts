import type { AuthConfig } from "../../config/auth-config.ts";
import { viewOf } from "../call-view.ts";
import { compileSource } from "../value-source.ts";
import type { SchemeVerifier, Verification } from "../verifier.ts";

/**
 * Adds what a request must hold besides what its scheme verifies: certificates and tokens of a big
 * provider vouch for every customer of it, and only some of them are meant. A verifier without
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
        const view = viewOf(call);
        const missed = required.find(({ read, values }) => !values.has(read(view) ?? ""));
        return missed === undefined ? verification : { ok: false, reason: `${missed.source} is none that is required` };
      };
      const verification = verifier.verify(call);
      return verification instanceof Promise ? verification.then(judge) : judge(verification);
    },
  };
}
