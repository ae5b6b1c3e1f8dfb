import type { Rendered } from "./render.ts";
import type { Resolved } from "./resolve.ts";

/**
 * Ends an event that is not for an agent: there is nothing in it (a ping), or the mapping's filter
 * does not take it, such as an agent's own comment, which shall not wake it again. `undefined`: it continues.
 */
export function filter({ route, context, miss }: Resolved): Rendered | undefined {
  const reason = miss ?? (typeof route === "string" ? undefined : route.filter?.miss(context));
  return reason === undefined ? undefined : { actions: [], ended: { state: "filtered", reason } };
}
