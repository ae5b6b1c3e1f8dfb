/** How much text a form lets through, and of what kind. */
import type { ExtractField, ExtractForm } from "../../core/extraction.ts";
import { takesNoSpace } from "./pattern.ts";

const NUMBER_CHARS = 24;
/** Characters of words that a form may let through and still be closed: too few to tell an agent what to do. */
const CLOSED_CHARS = 128;

/** The most characters of values that a filled field has. */
export function maxChars(field: ExtractField): number {
  switch (field.type) {
    case "object":
      return Object.values(field.properties).reduce((sum, property) => sum + maxChars(property), 0);
    case "array":
      return field.maxItems * maxChars(field.items);
    case "string":
      return field.maxLength;
    case "enum":
      return Math.max(...field.values.map((value) => value.length));
    default:
      return NUMBER_CHARS;
  }
}

/**
 * True for a form that carries no words of others to the run: every string has a pattern that takes no space, and
 * all of them together are short.
 */
export function isClosedForm(form: ExtractForm): boolean {
  return wordChars(form) <= CLOSED_CHARS;
}

/** Characters that others choose; infinite where one string takes sentences. */
function wordChars(field: ExtractField): number {
  switch (field.type) {
    case "object":
      return Object.values(field.properties).reduce((sum, property) => sum + wordChars(property), 0);
    case "array": {
      const chars = wordChars(field.items);
      return chars === 0 ? 0 : field.maxItems * chars;
    }
    case "string":
      return field.pattern !== undefined && takesNoSpace(field.pattern) ? field.maxLength : Infinity;
    default:
      return 0;
  }
}
