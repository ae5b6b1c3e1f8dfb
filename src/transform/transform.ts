/** What a transform module exports, and what it is given. */
import type { Headers, PayloadContext } from "../delivery.ts";

/** What a transform may look at; nothing in it carries a credential. */
export interface TransformContext {
  readonly payload: unknown;
  /** Lower-case names. */
  readonly headers: Headers;
  /** The request's URL on the host `localhost`; parameters that carry a credential are gone. */
  readonly url: URL;
  /** The path below the prefix: `github/push`. */
  readonly path: string;
}

/**
 * Changes what a mapping makes of a payload.
 *
 * `null` skips the request (204), `undefined` keeps the mapping's own action, and an object
 * overrides it field by field.
 */
export type TransformFunction = (context: TransformContext) => unknown;

/** Builds the context of one call. */
export function transformContext(context: PayloadContext): TransformContext {
  const url = new URL("http://localhost/");
  url.pathname = context.path;
  for (const [name, value] of Object.entries(context.query)) url.searchParams.set(name, value);
  return { payload: context.payload, headers: context.headers, url, path: context.path };
}
