/** Handshakes put to work without a gateway. */
import { compileHandshakes } from "../../../../src/auth/handshake/handshake.ts";
import type {
  CompiledHandshakes,
  HandshakeAnswer,
  HandshakeContext,
} from "../../../../src/auth/handshake/handshake.ts";
import type { DeliveredKeys, IncomingRequest } from "../../../../src/auth/verifier.ts";
import type { Handshake } from "../../../../src/config/handshake.ts";
import type { Answer } from "../../../../src/http/answer.ts";

export const SECRET = "a-secret-of-the-route-0123456789";
export const ROUTE = "sender";

/** A request in the words of a test. */
export interface Sent {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly form?: string;
  readonly body?: string;
}

/** A request as the gateway receives it. */
export function callOf({ method = "POST", query = "", headers = {}, json, form, body }: Sent): IncomingRequest {
  const type = form === undefined ? "application/json" : "application/x-www-form-urlencoded";
  const text = body ?? form ?? (json === undefined ? "" : JSON.stringify(json));
  return {
    method,
    target: `/hooks/${ROUTE}${query === "" ? "" : `?${query}`}`,
    headers: { ...(text === "" ? {} : { "content-type": type }), ...headers },
    body: Buffer.from(text),
    receivedAt: 0,
    pathSecret: undefined,
  };
}

/** Keys that live as long as a test. */
export function keyBox(): DeliveredKeys {
  const keys = new Map<string, string>();
  return {
    get: (route) => keys.get(route),
    accept(route, key) {
      if (keys.has(route)) return Promise.resolve(false);
      keys.set(route, key);
      return Promise.resolve(true);
    },
  };
}

/** A web whose URLs all answer `isUp`, and the list of those that were fetched. */
export function confirming(isUp: boolean): { fetched: string[]; remoteKeys: HandshakeContext["remoteKeys"] } {
  const fetched: string[] = [];
  return {
    fetched,
    remoteKeys: {
      jwks: () => ({ verify: () => Promise.resolve({ ok: false, reason: "no keys" }) }),
      certificate: () => undefined,
      confirm(url) {
        fetched.push(url);
        return Promise.resolve(isUp);
      },
      close: () => undefined,
    },
  };
}

export function compile(handshakes: readonly Handshake[], context: Partial<HandshakeContext> = {}): CompiledHandshakes {
  return compileHandshakes(handshakes, {
    route: ROUTE,
    secrets: [SECRET],
    settings: {},
    remoteKeys: confirming(true).remoteKeys,
    deliveredKeys: keyBox(),
    ...context,
  });
}

/** What one handshake answers to a request, as the stage that it belongs to asks. */
export async function answerTo(
  handshake: Handshake,
  sent: Sent,
  context: Partial<HandshakeContext> = {},
): Promise<HandshakeAnswer | undefined> {
  const compiled = compile([handshake], context);
  return handshake.verified ? compiled.verified(callOf(sent)) : compiled.unverified(callOf(sent));
}

/** A whole answer with content. */
export function content(
  status: number,
  type: string,
  payload: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: {
      "content-type": type,
      "content-length": Buffer.byteLength(payload),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
    payload,
  };
}

export const plain = (payload: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  content(200, "text/plain; charset=utf-8", payload, headers);

export const json = (payload: string): Answer => content(200, "application/json; charset=utf-8", payload);

/** A whole answer without content. */
export function empty(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  const common = { "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers };
  return { status, headers: status === 204 ? common : { ...common, "content-length": 0 }, payload: "" };
}
