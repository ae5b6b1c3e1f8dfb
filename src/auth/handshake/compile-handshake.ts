import type { Handshake } from "../../config/handshake-schema.ts";
import { compileComputed } from "./compile-computed.ts";
import { compileEffect } from "./compile-effect.ts";
import type { HandshakeAnswer, HandshakeContext } from "./handshake-context.ts";
import { compileReply } from "./compile-reply.ts";
import { compileShape } from "./compile-shape.ts";
import type { HandshakeRequest } from "./handshake-request.ts";

export interface CompiledHandshake {
  readonly method: string;
  /** The answer to a request of this method; `undefined` when it is no such handshake. */
  readonly answer: (request: HandshakeRequest) => HandshakeAnswer | Promise<HandshakeAnswer | undefined> | undefined;
}

/** Compiles one handshake; throws a TypeError that names it for data that cannot work. */
export function compileHandshake(handshake: Handshake, context: HandshakeContext): CompiledHandshake {
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
