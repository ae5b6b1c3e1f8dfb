import type { IncomingCall, RequestView } from "../verifier.ts";

/** A request while it is looked at as a handshake. */
export interface HandshakeRequest {
  readonly call: IncomingCall;
  /** What sources read; the body is parsed when one of them asks for it. */
  readonly view: RequestView;
}

/** Makes a text out of a request; `undefined` when a part of it is missing or must not be repeated. */
export type ReadText = (request: HandshakeRequest) => string | undefined;
