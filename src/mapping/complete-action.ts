import type { Action } from "../core/delivery.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";

/** Refuses an action that would wake an agent with nothing to read. */
export function completeAction(action: Action, mappingId: string): Action | Refusal {
  const [field, content] =
    action.kind === "wake" ? (["text", action.text] as const) : (["message", action.message] as const);
  if (content.trim() !== "") return action;
  return refuse(
    "INVALID_ACTION",
    `The mapping "${mappingId}" requires a ${field}, and it came out blank for this payload.`,
  );
}
