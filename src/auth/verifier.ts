/** The inputs and results of the schemes of `auth`. */
import type { IncomingHttpHeaders } from "node:http";
import type { ReplayKey } from "../core/delivery.ts";

export type { ReplayKey } from "../core/delivery.ts";

/** The request that sources (`header:x`, `query:x`, `body:a.b`) read. */
export interface RequestView {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query: Readonly<Record<string, string>>;
  /** The body as data, read when it is first asked for; `undefined` when it is neither JSON nor a form. */
  readonly payload: unknown;
}

/** A request as it came, with its credentials, for verification only: nothing else ever sees it. */
export interface IncomingRequest {
  readonly method: string;
  /** The request's target as sent: `/hooks/twilio?bodySHA256=...`. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The last segment of the path, for routes whose secret is in the path. */
  readonly pathSecret: string | undefined;
  /** The client that its fetches are counted for; absent: they are counted for no client. */
  readonly client?: string;
}

/** The result of a verification; reasons are for the gateway's owner and never hold a secret or a signature. */
export type Verification = Verified | FailedVerification;

export interface Verified {
  readonly ok: true;
  /** Identifies the key that matched without disclosing it. */
  readonly credentialId: string;
  /** The key that identifies a copy of the request; absent for schemes whose requests identify nothing. */
  readonly replay?: ReplayKey;
}

export interface FailedVerification {
  readonly ok: false;
  readonly reason: string;
  /** Present when the keys to verify with are not there yet: nothing is known against the sender. */
  readonly retryAfterSeconds?: number;
}

/** Verifies the requests of one route; compiled at config load. */
export interface SchemeVerifier {
  verify(call: IncomingRequest): Verification | Promise<Verification>;
}

/** Keys that are fetched: cached, and refreshed off the request path. */
export interface RemoteKeys {
  /** The verifier of tokens of one provider; begins to fetch its keys. The same URL shares one cache. */
  jwks(url: string): JwksKeys;
  /**
   * The certificate at a URL whose host has been checked, as PEM. Known ones are answered at once;
   * a first one is waited for, bounded in time, and counted for `client`. `undefined`: not to be had now.
   */
  certificate(url: string, client?: string): Promise<string | undefined> | string | undefined;
  /** Fetches a URL once and says whether it answered 2xx; the answer is thrown away. */
  confirm(url: string): Promise<boolean>;
  /** Stops refreshing. */
  close(): void;
}

export interface JwksKeys {
  /** Verifies a compact token against the provider's keys; see jose's `jwtVerify`. */
  verify(
    token: string,
    expected: { issuer: readonly string[]; audience: string; now: number },
  ): Promise<JwtVerification>;
}

export type JwtVerification =
  | { readonly ok: true; readonly claims: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly reason: string; readonly retryAfterSeconds?: number };

/** Keys that senders deliver in a handshake, kept in the state directory. */
export interface DeliveredKeys {
  /** The key of a route, if one was delivered. */
  get(route: string): string | undefined;
  /** Keeps the first key of a route, durably; false when it has one already or the window is over. */
  accept(route: string, key: string): Promise<boolean>;
}

/** The parts that a scheme is compiled with besides its data. */
export interface SchemeContext {
  /** The mapping's path: scopes credential ids and replay marks. */
  readonly route: string;
  /** The public URL of the gateway, without a trailing slash; the target as sent follows it in `{url}`. */
  readonly publicUrl: string | undefined;
  readonly remoteKeys: RemoteKeys;
  readonly deliveredKeys: DeliveredKeys;
}
