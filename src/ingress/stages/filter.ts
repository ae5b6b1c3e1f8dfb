import type { Rendered } from "./render.ts";
import type { Resolved } from "./resolve.ts";

const APPROVES = { state: "skipped", reason: "it approves what is held of the same object" } as const;

/**
 * Ends an event that is not for an agent: there is nothing in it (a ping), or the mapping's filter
 * does not take it, such as an agent's own comment, which shall not wake it again. So does an event that approves others. `undefined`: it continues.
 */
export function filter({ route, context, miss }: Resolved): Rendered | undefined {
  if (typeof route === "string") return undefined;
  const judged = miss === undefined ? route.release?.judge(context) : undefined;
  // What the mapping says of the actor holds for an event that approves as well, though it is none of its `events`.
  const barred = judged && route.filter?.missActor(context);
  if (barred !== undefined) return { actions: [], ended: { state: "filtered", reason: barred } };
  if (judged && "approved" in judged) return { actions: [], ended: APPROVES, approval: judged.approved };
  const reason = miss ?? judged?.refused ?? route.filter?.miss(context);
  return reason === undefined ? undefined : { actions: [], ended: { state: "filtered", reason } };
}
