import type { PayloadContext } from "../delivery.ts";
import { refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";

/**
 * The contexts that a mapping is rendered for: one, or one for each item of its `forEach` array.
 *
 * An item's payload is the original with the array replaced by that item alone, so that templates
 * are the same with and without `forEach`. An empty array gives no context. Over `maxItems` the
 * whole request is refused with 413: a tail is never dropped.
 */
export function fanOut(
  context: PayloadContext,
  forEach: string | undefined,
  maxItems: number,
): readonly PayloadContext[] | Refusal {
  if (forEach === undefined) return [context];
  const payload: unknown = context.payload;
  const items =
    typeof payload === "object" && payload !== null && Object.hasOwn(payload, forEach)
      ? (payload as Record<string, unknown>)[forEach]
      : undefined;
  if (!Array.isArray(items)) {
    return refuse("INVALID_PAYLOAD", `payload.${forEach} must be an array.`);
  }
  if (items.length > maxItems) {
    return refuse(
      "BODY_TOO_LARGE",
      `payload.${forEach} has ${items.length} items; this gateway takes at most ${maxItems} in one request. Nothing was accepted: send it in parts.`,
    );
  }
  return items.map((item: unknown) => ({ ...context, payload: { ...(payload as object), [forEach]: [item] } }));
}
