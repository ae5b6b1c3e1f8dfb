import { signsBody } from "../config/auth/content.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { type EventActor, type EventAuthor, type Level, LEVELS } from "../core/delivery.ts";
import type { Preset } from "../presets/preset.ts";

/**
 * Gives an actor its level by the mapping's lists and by the role that the sender states. Whoever acts on the text of
 * another person brings that text before the agent, so the level is the least of all who wrote.
 */
export type RankActor = (actor: EventActor, authors: readonly EventAuthor[]) => EventActor;

/** Compiles `actors` of a mapping; `undefined` where no preset knows the actor. */
export function compileRank(
  { auth, actors }: Pick<MappingConfig, "auth" | "actors">,
  preset: Preset | undefined,
): RankActor | undefined {
  if (preset === undefined) return undefined;
  if (!preset.vouchesForActors || !isVouched(auth))
    return (actor) => ({ ...actor, level: "unknown", ownLevel: "unknown" });
  const roles = actors?.roles ?? new Map(Object.entries(preset.roles));
  const levelOf = ({ id, role }: EventAuthor): Level =>
    (id === undefined ? undefined : actors?.levels.get(id)) ??
    (role === undefined ? undefined : roles.get(role)) ??
    "unknown";
  const isCounted = actors?.authors !== "ignore";
  return (actor, authors) => {
    const ownLevel = actor.unproven ? "unknown" : levelOf(actor);
    const others = isCounted ? authors.filter(({ id }) => id === undefined || id !== actor.id) : [];
    return { ...actor, ownLevel, level: others.map(levelOf).reduce(lower, ownLevel) };
  };
}

function lower(one: Level, other: Level): Level {
  return LEVELS.indexOf(other) < LEVELS.indexOf(one) ? other : one;
}

/** True when the sender itself is known to say who acted: whoever holds the hook token can write any name into a payload. */
function isVouched(auth: MappingConfig["auth"]): boolean {
  return auth !== undefined && (auth.scheme !== "signature" || signsBody(auth));
}
