import type { CompiledMapping } from "../mapping/compile-mapping.ts";
import type { Rendered } from "./render.ts";
import type { Resolved } from "./resolve.ts";

/**
 * Ends an event that is not for an agent: there is nothing in it (a ping), or it comes from a sender
 * that is ignored, so that an agent's own comment does not wake it again. `undefined`: it goes on.
 */
export function filter(resolved: Resolved): Rendered | undefined {
  const reason = missOf(resolved);
  return reason === undefined ? undefined : { actions: [], ended: { state: "filtered", reason } };
}

function missOf({ route, context, miss }: Resolved): string | undefined {
  if (miss !== undefined || typeof route === "string") return miss;
  const { sender } = context;
  if (sender === undefined) return undefined;
  const pattern = ignoredBy(route, [sender.name, sender.id]);
  if (pattern !== undefined) return `ignoreSenders: "${pattern}" is the sender "${sender.name}"`;
  if (sender.bot && route.config.ignoreBots) return `ignoreBots: the sender "${sender.name}" is a bot`;
  return undefined;
}

function ignoredBy({ ignores }: CompiledMapping, names: readonly (string | undefined)[]): string | undefined {
  for (const ignore of ignores) {
    if (names.some((name) => name !== undefined && ignore.matches(name))) return ignore.pattern;
  }
  return undefined;
}
