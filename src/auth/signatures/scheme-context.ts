import type { DeliveredKeys, RemoteKeys } from "../verifier.ts";

/** What a scheme is compiled with besides its data. */
export interface SchemeContext {
  /** The mapping's path: scopes credential ids and replay marks. */
  readonly route: string;
  /** Where the outside reaches the gateway, without a trailing slash; the target as sent follows it in `{url}`. */
  readonly publicUrl: string | undefined;
  readonly remoteKeys: RemoteKeys;
  readonly deliveredKeys: DeliveredKeys;
}
