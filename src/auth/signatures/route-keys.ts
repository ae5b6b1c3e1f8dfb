import type { SignatureAuth } from "../../config/auth-config.ts";
import type { Unverified } from "../verifier.ts";
import type { SignedInput } from "./call-source.ts";
import { compileCertificateKey } from "./certificate-key.ts";
import type { SchemeContext } from "./scheme-context.ts";
import { compileKey } from "./signature-key.ts";
import type { AlgorithmSpec, SignatureKey } from "./signature-key.ts";

type Keys = readonly SignatureKey[] | Unverified;

/**
 * Compiles where the keys of a route come from: its secrets, a key that the sender delivered, or the
 * certificate that a request names. Throws a TypeError when there are none, or one is no key.
 */
export function compileKeys(
  auth: SignatureAuth,
  context: SchemeContext,
  specs: readonly AlgorithmSpec[],
): (input: SignedInput, spec: AlgorithmSpec) => Keys | Promise<Keys> {
  const { route, deliveredKeys } = context;
  const { secrets, certificate, keyEncoding } = auth;
  const spec = specs[0]!;
  if (certificate !== undefined) {
    if (spec.keyType === undefined)
      throw new TypeError("auth.certificate has no use: the algorithm takes a shared secret.");
    const keyOf = compileCertificateKey(certificate, context);
    return (input, spec) => {
      const key = keyOf(input, spec);
      return key instanceof Promise ? key.then(listed) : listed(key);
    };
  }
  const keys = secrets.map((text) => compileKey(text, { route, spec, keyEncoding }));
  if (auth.deliveredKey) {
    let last: { readonly text: string; readonly keys: Keys } | undefined;
    return () => {
      const text = deliveredKeys.get(route);
      if (text === undefined) return keys.length > 0 ? keys : { ok: false, reason: "no key was delivered yet" };
      if (last?.text !== text)
        last = { text, keys: withDelivered(keys, () => compileKey(text, { route, spec, keyEncoding })) };
      return last.keys;
    };
  }
  if (keys.length === 0) throw new TypeError("auth.secret is missing.");
  return () => keys;
}

function listed(key: SignatureKey | Unverified): Keys {
  return "ok" in key ? key : [key];
}

function withDelivered(keys: readonly SignatureKey[], compile: () => SignatureKey): Keys {
  try {
    return [...keys, compile()];
  } catch {
    return keys.length > 0 ? keys : { ok: false, reason: "the key that was delivered is no key" };
  }
}
