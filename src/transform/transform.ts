/** What a transform module exports, what it is given and what it may return: the types that its author imports. */
import type { EventActor, Headers, Query } from "../core/delivery.ts";
import type { TransformAction } from "./result.ts";

/** What a transform may look at; nothing in it carries a credential. */
export interface TransformContext<Payload = unknown> {
  /** The parsed body; of a mapping with `forEach`, with one item in the place of the list. */
  readonly payload: Payload;
  /** Lower-case names. */
  readonly headers: Headers;
  /** The last value of a repeated parameter. */
  readonly query: Query;
  /** The URL that was called, `hooks.path` included, on the host `localhost`; parameters that carry a credential are gone. */
  readonly url: URL;
  /** The path below the prefix: `github/push`. */
  readonly path: string;
  readonly method: string;
  /** The exact bytes received; secrets that the sender puts into its bodies are masked. */
  readonly rawBody: Uint8Array;
  /** The event's name, when the mapping's preset knows it: `pull_request.opened`. */
  readonly event: string | undefined;
  /** Who caused the event, when the mapping's preset knows it. */
  readonly sender: EventActor | undefined;
  /** The sender's id for this delivery, when the mapping's preset knows it; the same when the sender tries again. */
  readonly deliveryId: string | undefined;
  /** When the request arrived. */
  readonly time: Date;
}

/**
 * What a transform makes of a request.
 *
 * `null` or an empty array skips it (204). `undefined` keeps the mapping's own action, an object
 * overrides it field by field, and an array does so once for each of its objects.
 */
export type TransformResult = TransformAction | readonly (TransformAction | null)[] | null | undefined;

/** Changes what a mapping makes of a payload. */
export type TransformFunction<Payload = unknown> = (
  context: TransformContext<Payload>,
) => TransformResult | void | Promise<TransformResult | void>;
