import { isKnownSecret } from "./known-secrets.ts";

/** Secrets that are taken: a sender that knew one of them could do more than call its route. */
export interface TakenSecrets {
  /** Those of the gateway itself. */
  readonly gateway: { readonly secrets: readonly string[] };
  /** The hook tokens. */
  readonly tokens: readonly string[];
}

/** Why a secret of a sender cannot be used, whatever it is for; `known` are those of the sender's documentation. */
export function secretProblem(value: string, taken: TakenSecrets, known: readonly string[] = []): string | undefined {
  if (taken.gateway.secrets.some((secret) => secret.trim() === value)) {
    return "is also a secret of the gateway itself; give the sender one of its own";
  }
  if (taken.tokens.includes(value)) return "is also the hook token; give the sender a secret of its own";
  if (value.includes("${")) return "holds a ${VARIABLE} that was not replaced";
  if (isKnownSecret(value, known)) return "is a secret of an example, which everybody knows; give the sender another";
  return undefined;
}
