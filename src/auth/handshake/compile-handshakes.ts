import type { Handshake } from "../../config/handshake-schema.ts";
import { viewOf } from "../call-view.ts";
import { isTokenEnd } from "./challenge-forms.ts";
import type { IncomingCall } from "../verifier.ts";
import { compileHandshake } from "./compile-handshake.ts";
import type { CompiledHandshake } from "./compile-handshake.ts";
import type { HandshakeAnswer, HandshakeContext } from "./handshake-context.ts";

export type { HandshakeAnswer, HandshakeContext };

/** The handshakes of one route; compiled at config load. */
export interface CompiledHandshakes {
  /** Methods besides `POST` that one of them takes. */
  readonly methods: ReadonlySet<string>;
  /** Whether one of them signs, for whoever asks, texts in the form of a token. */
  readonly signsTokens: boolean;
  /** Whether a signature of this body proves nothing, since anybody could have asked for it. */
  signsFreely(body: Uint8Array): boolean;
  /** Answers a call that no signature covers, if it has exactly the shape of a handshake. */
  unverified(call: IncomingCall): HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined;
  /** Answers a call that the route's scheme has verified, if it is a handshake. */
  verified(call: IncomingCall): HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined;
}

/** Bytes; the largest handshake known, the confirmation of AWS SNS, has about 2,000. */
const MAX_BODY_BYTES = 16_384;

/**
 * Compiles the handshakes of a route. The first one in order that a call has the shape of answers it.
 *
 * A call whose body has more than 16 KiB is none. Throws a TypeError that names the handshake for data
 * that cannot work or would disclose a secret.
 */
export function compileHandshakes(handshakes: readonly Handshake[], context: HandshakeContext): CompiledHandshakes {
  const verified = byMethod(handshakes, context, true);
  const unverified = byMethod(handshakes, context, false);
  const methods = new Set([...verified.keys(), ...unverified.keys()]);
  methods.delete("POST");
  const signsTokens = handshakes.some(isOracle);
  return {
    methods,
    signsTokens,
    signsFreely: (body) => signsTokens && isTokenEnd(body),
    unverified: (call) => answerFirst(unverified.get(call.method), call),
    verified: (call) => answerFirst(verified.get(call.method), call),
  };
}

function isOracle({ verified, computed = {} }: Handshake): boolean {
  return !verified && Object.values(computed).some(({ algorithm }) => algorithm === "hmac-sha256");
}

function byMethod(
  handshakes: readonly Handshake[],
  context: HandshakeContext,
  verified: boolean,
): ReadonlyMap<string, readonly CompiledHandshake[]> {
  const chosen = handshakes.filter((handshake) => handshake.verified === verified);
  return Map.groupBy(
    chosen.map((handshake) => compileHandshake(handshake, context)),
    ({ method }) => method,
  );
}

function answerFirst(
  handshakes: readonly CompiledHandshake[] | undefined,
  call: IncomingCall,
): HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined {
  if (handshakes === undefined || call.body.length > MAX_BODY_BYTES) return undefined;
  const view = viewOf(call);
  for (const { answer } of handshakes) {
    const found = answer({ call, view });
    if (found !== undefined) return found;
  }
  return undefined;
}
