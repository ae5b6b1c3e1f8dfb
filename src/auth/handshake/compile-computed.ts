import { createHash, createHmac } from "node:crypto";
import type { Handshake } from "../../config/handshake-schema.ts";
import { isChallenge, isToken } from "./challenge-forms.ts";
import type { HandshakeContext } from "./handshake-context.ts";
import { compileText } from "./compile-text.ts";
import type { ReadText } from "./handshake-request.ts";

type Computed = NonNullable<Handshake["computed"]>[string];

/**
 * Compiles the values that a handshake computes, by name.
 *
 * X, LinkedIn and Smartcar ask for an HMAC of a challenge that nothing signs; Zoom signs its own. An
 * unsigned challenge has to look like a token, see {@link isToken}.
 */
export function compileComputed(handshake: Handshake, context: HandshakeContext): ReadonlyMap<string, ReadText> {
  const compiled = Object.entries(handshake.computed ?? {}).map(
    ([name, computed]) => [name, compileOne(computed, handshake.verified, context)] as const,
  );
  return new Map(compiled);
}

function compileOne({ algorithm, encoding, of }: Computed, verified: boolean, context: HandshakeContext): ReadText {
  if (typeof of !== "string" || of === "") throw new TypeError("a computed value says not what it is made of");
  const isSigned = algorithm === "hmac-sha256";
  const read = compileText(of, {
    settings: context.settings,
    publicUrl: context.publicUrl,
    computed: new Map(),
    takes: isSigned && !verified ? isToken : isChallenge,
  });
  return (request) => {
    const text = read(request);
    if (text === undefined) return undefined;
    if (!isSigned) return createHash("sha256").update(text).digest(encoding);
    const key = keyOf(context);
    return key === undefined ? undefined : createHmac("sha256", key).update(text).digest(encoding);
  };
}

/** A key delivered by the sender may come long after the configuration was loaded. */
function keyOf({ secrets, deliveredKeys, route }: HandshakeContext): string | undefined {
  const key = secrets[0] ?? deliveredKeys.get(route);
  return key === "" ? undefined : key;
}
