import type { Handshake } from "../../config/handshake.ts";
import { requestViewOf } from "../request-view.ts";
import type { IncomingRequest } from "../verifier.ts";
import { compileEffect } from "./effects.ts";
import { compileReply } from "./reply.ts";
import { compileShape } from "./match.ts";
import { compileComputed, isTokenEnd } from "./text.ts";
import type { HandshakeAnswer, HandshakeContext, HandshakeRequest } from "./context.ts";

export type { HandshakeAnswer, HandshakeContext };

/** The handshakes of one route; compiled at config load. */
export interface CompiledHandshakes {
  /** Methods besides `POST` that one of them takes. */
  readonly methods: ReadonlySet<string>;
  /** True when one of them signs, for anyone who asks, texts in the form of a token. */
  readonly signsTokens: boolean;
  /** True when a signature of this body proves nothing, since anyone could have asked for it. */
  isForgeable(body: Uint8Array): boolean;
  /** Answers a call that no signature covers, if it has exactly the shape of a handshake. */
  unverified(call: IncomingRequest): HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined;
  /** Answers a call that the route's scheme has verified, if it is a handshake. */
  verified(call: IncomingRequest): HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined;
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
  const signsTokens = handshakes.some(isSigningOracle);
  return {
    methods,
    signsTokens,
    isForgeable: (body) => signsTokens && isTokenEnd(body),
    unverified: (call) => answerFirst(unverified.get(call.method), call),
    verified: (call) => answerFirst(verified.get(call.method), call),
  };
}

function isSigningOracle({ verified, computed = {} }: Handshake): boolean {
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
  call: IncomingRequest,
): HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined {
  if (handshakes === undefined || call.body.length > MAX_BODY_BYTES) return undefined;
  const view = requestViewOf(call);
  for (const { answer } of handshakes) {
    const found = answer({ call, view });
    if (found !== undefined) return found;
  }
  return undefined;
}

interface CompiledHandshake {
  readonly method: string;
  /** The answer to a request of this method; `undefined` when it is no such handshake. */
  readonly answer: (request: HandshakeRequest) => HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined;
}

/** Compiles one handshake; throws a TypeError that names it for data that cannot work. */
function compileHandshake(handshake: Handshake, context: HandshakeContext): CompiledHandshake {
  try {
    return compile(handshake, context);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError(`The handshake "${handshake.name}" cannot be used: ${error.message}.`, { cause: error });
  }
}

function compile(handshake: Handshake, context: HandshakeContext): CompiledHandshake {
  const { name, method = "POST" } = handshake;
  const hasShape = compileShape(handshake, context.settings);
  const makeReply = compileReply(handshake, compileComputed(handshake, context), context);
  const settle = compileEffect(handshake, context);
  return {
    method,
    answer(request) {
      if (!hasShape(request)) return undefined;
      const reply = makeReply(request);
      if (reply === undefined) return undefined;
      if (settle === undefined) return { name, answer: reply };
      return settle(request, reply)?.then((answer) => answer && { name, answer });
    },
  };
}
