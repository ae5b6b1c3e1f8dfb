import type { SignatureAuth } from "../../config/auth-config.ts";
import { compileCallSource } from "./call-source.ts";
import type { SignedInput } from "./call-source.ts";
import { ALGORITHM_SPECS } from "./signature-key.ts";
import type { AlgorithmSpec } from "./signature-key.ts";

export interface AlgorithmChoice {
  /** All that may be chosen; they take the same kind of key. */
  readonly specs: readonly AlgorithmSpec[];
  readonly takesSecretInContent: boolean;
  /** The one that a request is signed with; `undefined` when it names none of them. */
  choose(input: SignedInput): AlgorithmSpec | undefined;
}

/**
 * Compiles the algorithm of a scheme. Throws a TypeError for a choice between kinds of keys: who may
 * choose could have a public key, which everybody knows, taken for a shared secret.
 */
export function compileAlgorithm(algorithm: SignatureAuth["algorithm"]): AlgorithmChoice {
  if (typeof algorithm === "string") {
    const spec = ALGORITHM_SPECS[algorithm];
    return { specs: [spec], takesSecretInContent: spec.family === "digest", choose: () => spec };
  }
  const read = compileCallSource(algorithm.from);
  const byName = new Map(Object.entries(algorithm.values).map(([name, value]) => [name, ALGORITHM_SPECS[value]]));
  const specs = [...byName.values()];
  if (specs.length === 0) throw new TypeError("auth.algorithm.values names no algorithm.");
  const { family, keyType } = specs[0]!;
  if (specs.some((spec) => spec.family !== family || spec.keyType !== keyType)) {
    throw new TypeError("auth.algorithm.values must be of one kind: their keys differ.");
  }
  return {
    specs,
    takesSecretInContent: family === "digest",
    choose: (input) => byName.get(read(input) ?? ""),
  };
}
