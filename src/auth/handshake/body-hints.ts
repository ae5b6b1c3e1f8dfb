import { compilePath } from "../../core/payload-path.ts";
import { splitSource } from "../value-source.ts";
import type { Condition } from "./compile-condition.ts";

/** Characters that JSON and forms both write as they are. */
const WRITTEN_AS_IS = /^[\w.-]+$/;

/**
 * Bytes that a body must hold to satisfy the conditions about it, so that the bodies of ordinary
 * events are not parsed only to find that they are no handshake. A sender that escapes letters which
 * need no escape is not recognized: none does.
 */
export function bodyHints(conditions: readonly (readonly [string, Condition])[]): readonly string[] {
  const hints = new Set<string>();
  for (const [source, condition] of conditions) {
    if (condition === false) continue;
    for (const step of compilePath(splitSource(source).name)) {
      // The key under which a body that is text is found is not in the text.
      if (typeof step === "string" && step !== "text" && WRITTEN_AS_IS.test(step)) hints.add(step);
    }
    if (typeof condition === "string" && WRITTEN_AS_IS.test(condition)) hints.add(condition);
  }
  return [...hints];
}

/** Whether the body holds all hints. */
export function holdsHints(body: Uint8Array, hints: readonly string[]): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return hints.every((hint) => bytes.includes(hint));
}
