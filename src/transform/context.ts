import type { EventActor, Headers, Query } from "../core/delivery.ts";
import type { TransformCall } from "./call.ts";
import type { TransformAction } from "./result.ts";

/** A context as it travels to the process that runs the transform: JSON, without the bytes of the body. */
export interface ContextFields {
  readonly payload: unknown;
  readonly headers: Headers;
  readonly query: Query;
  readonly path: string;
  /** The path of the URL that was called: `/hooks/github/push`. */
  readonly pathname?: string;
  readonly method: string;
  readonly event?: string | undefined;
  readonly actor?: EventActor | undefined;
  readonly deliveryId?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The facts of a call that the transform gets, besides the bytes. */
export function contextFields({ context, method, basePath = "", deliveryId }: TransformCall): ContextFields {
  const { payload, headers, query, path, event, actor, now } = context;
  const pathname = `${basePath}/${path}`;
  return { payload, headers, query, path, pathname, method, event, actor, deliveryId, time: now.getTime() };
}

/** Builds what the transform is given. */
export function transformContext(fields: ContextFields, rawBody: Uint8Array): TransformContext {
  const { payload, headers, query, path, pathname = `/${path}`, method, event, actor, deliveryId, time } = fields;
  const url = new URL("http://localhost/");
  url.pathname = pathname;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return {
    payload,
    headers,
    query,
    url,
    path,
    method,
    rawBody,
    event,
    actor,
    sender: actor,
    deliveryId,
    time: new Date(time),
  };
}

/** The request that a transform may read; nothing in it carries a credential. */
export interface TransformContext<Payload = unknown> {
  /** The parsed body; of a mapping with `forEach`, with one item instead of the list. */
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
  /** The actor of the event, when the mapping's preset knows it. */
  readonly actor: EventActor | undefined;
  /** The earlier name of `actor`. */
  readonly sender: EventActor | undefined;
  /** The sender's id for this delivery, when the mapping's preset knows it; the same when the sender tries again. */
  readonly deliveryId: string | undefined;
  /** The time at which the request arrived. */
  readonly time: Date;
}

/**
 * A transform's result for a request.
 *
 * `null` or an empty array skips it (204). `undefined` keeps the mapping's own action, an object
 * overrides it field by field, and an array does so once for each of its objects.
 */
export type TransformResult = TransformAction | readonly (TransformAction | null)[] | null | undefined;

/** Changes what a mapping makes of a payload. */
export type TransformFunction<Payload = unknown> = (
  context: TransformContext<Payload>,
) => TransformResult | void | Promise<TransformResult | void>;
