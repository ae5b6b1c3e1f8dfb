import type { Action } from "../core/delivery.ts";
import { isRefusal } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import { TransformError } from "../transform/call.ts";
import type { CallTransform, TransformCall } from "../transform/call.ts";
import { readResult } from "../transform/result.ts";
import type { CompiledMapping } from "./compile-mapping.ts";
import { completeAction } from "./complete-action.ts";
import { mergeOverride } from "./merge-override.ts";
import { renderAction } from "./render-action.ts";

/**
 * The actions that a mapping and its transform make of a call together; none: the call is skipped.
 *
 * The mapping's own action is rendered first, so that nothing a module does to the payload can change
 * it. Rejects with a {@link "../transform/transform-call".TransformError}.
 */
export async function transformActions(
  mapping: CompiledMapping,
  transform: CallTransform,
  call: TransformCall,
  options: { readonly maxActions: number },
): Promise<readonly Action[] | Refusal> {
  const base = renderAction(mapping, call.context);
  const actions: Action[] = [];
  for (const override of overridesOf(await transform(call), options)) {
    const action = completeAction(mergeOverride(base, override), mapping.config.id);
    if (isRefusal(action)) return action;
    actions.push(action);
  }
  return actions;
}

/** A result of this process may throw when it is looked at. */
function overridesOf(...args: Parameters<typeof readResult>): ReturnType<typeof readResult> {
  try {
    return readResult(...args);
  } catch (error) {
    if (error instanceof TransformError) throw error;
    throw new TransformError("failed", "returned something that throws when it is looked at", { cause: error });
  }
}
