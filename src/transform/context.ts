import type { EventActor, Headers, Query } from "../core/delivery.ts";
import type { TransformCall } from "./call.ts";
import type { TransformContext } from "./transform.ts";

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
  readonly sender?: EventActor | undefined;
  readonly deliveryId?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** What of a call is told to the transform, besides the bytes. */
export function contextFields({ context, method, basePath = "", deliveryId }: TransformCall): ContextFields {
  const { payload, headers, query, path, event, sender, now } = context;
  const pathname = `${basePath}/${path}`;
  return { payload, headers, query, path, pathname, method, event, sender, deliveryId, time: now.getTime() };
}

/** Builds what the transform is given. */
export function transformContext(fields: ContextFields, rawBody: Uint8Array): TransformContext {
  const { payload, headers, query, path, pathname = `/${path}`, method, event, sender, deliveryId, time } = fields;
  const url = new URL("http://localhost/");
  url.pathname = pathname;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return { payload, headers, query, url, path, method, rawBody, event, sender, deliveryId, time: new Date(time) };
}
