import type { TransformFunction } from "./transform.ts";

/**
 * Gives a transform its types, and is it: `export default defineTransform<GitHubPush>(({ payload }) => ...)`.
 *
 * The type of the payload is what its author expects, not what was checked: anything can be sent.
 */
export function defineTransform<Payload = unknown>(transform: TransformFunction<Payload>): TransformFunction<Payload> {
  return transform;
}
