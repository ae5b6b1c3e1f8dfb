import type { PayloadContext } from "../core/delivery.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import { compilePath, lookup } from "../core/payload-path.ts";
import type { CompiledPath } from "../core/payload-path.ts";

/** A mapping's `forEach`, made ready at config load. */
export interface ForEach {
  /** The name of the array in messages: `payload.data.items`. */
  readonly name: string;
  readonly path: CompiledPath;
}

/** Compiles a `forEach`. */
export function compileForEach(written: string): ForEach {
  // As in a template, where `{{payload.a}}` is `{{a}}`.
  const inPayload = written.replace(/^payload\./, "");
  return written === "[]"
    ? { name: "payload", path: [] }
    : { name: `payload.${inPayload}`, path: compilePath(inPayload) };
}

/**
 * The contexts that a mapping is rendered for: one, or one for each item of its `forEach` array.
 *
 * `forEach` is a path as templates have it (`alerts`, `data.items`), or `[]` for a payload that is an
 * array itself. An item's payload is the original with the array replaced by that item alone, so that
 * templates are the same with and without `forEach`; what does not lie on the way to the array is shared
 * and not copied. An empty array gives no context. Over `maxItems` the whole request is refused with
 * 413: a tail is never dropped.
 */
export function fanOut(
  context: PayloadContext,
  forEach: ForEach | undefined,
  maxItems: number,
): readonly PayloadContext[] | Refusal {
  if (forEach === undefined) return [context];
  const { payload } = context;
  const { name, path } = forEach;
  const items = lookup(payload, path);
  if (!Array.isArray(items)) return refuse("INVALID_PAYLOAD", `${name} must be an array.`);
  if (items.length > maxItems) {
    return refuse(
      "BODY_TOO_LARGE",
      `${name} has ${items.length} items; this gateway takes at most ${maxItems} in one request. Nothing was accepted: send it in parts.`,
    );
  }
  return items.map((item: unknown) => ({ ...context, payload: replaced(payload, path, [item]) }));
}

/** A copy of `root` with another value at a path that {@link lookup} has followed. */
function replaced(root: unknown, path: CompiledPath, value: unknown, depth = 0): unknown {
  const segment = path[depth];
  if (segment === undefined) return value;
  const below = replaced((root as Record<string | number, unknown>)[segment], path, value, depth + 1);
  if (Array.isArray(root)) return root.with(Number(segment), below);
  return { ...(root as object), [segment]: below };
}
