import type { PresetSettings } from "../../config/preset-part.ts";
import type { Answer } from "../../http/answer.ts";
import type { DeliveredKeys, RemoteKeys } from "../verifier.ts";

/** What handshakes are compiled with besides their data. */
export interface HandshakeContext {
  /** The mapping's path: scopes delivered keys. */
  readonly route: string;
  /** The route's secrets as they are; the first one signs replies. */
  readonly secrets: readonly string[];
  readonly settings: PresetSettings;
  readonly remoteKeys: RemoteKeys;
  readonly deliveredKeys: DeliveredKeys;
  /** Where the outside reaches the gateway, without a trailing slash; for `{url}`, which is never there without. */
  readonly publicUrl?: string | undefined;
}

/** A handshake that was recognized, and its answer. */
export interface HandshakeAnswer {
  readonly name: string;
  readonly answer: Answer;
}
