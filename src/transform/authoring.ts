import { clip, itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../core/payload-text.ts";
import type { TransformFunction } from "./context.ts";

/**
 * The exports of `import ... from "reveille"` for a transform, in a sandbox and outside of one: of this package's
 * exports those that help to write one. Kept apart, since a sandbox loads what this imports and little else.
 */
export const authoring: object = Object.freeze({
  clip,
  defineTransform,
  itemLines,
  joinText,
  labeled,
  listAt,
  messageOf,
  textAt,
  valueAt,
});

/**
 * Gives a transform its types, and is it: `export default defineTransform<GitHubPush>(({ payload }) => ...)`.
 *
 * The type of the payload is what its author expects, not what was checked: anything can be sent.
 */
export function defineTransform<Payload = unknown>(transform: TransformFunction<Payload>): TransformFunction<Payload> {
  return transform;
}
