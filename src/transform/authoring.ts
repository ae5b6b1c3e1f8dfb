import { clip, itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../core/payload-text.ts";
import { defineTransform } from "./define-transform.ts";

/**
 * What a transform gets for `import ... from "reveille"`, in a sandbox and outside of one: of this package's
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
