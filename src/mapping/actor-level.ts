import { signsBody } from "../config/auth/content.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { EventActor, Level } from "../core/delivery.ts";
import type { Preset } from "../presets/preset.ts";

/** Gives an actor its level by the mapping's lists and by the role that the sender states. */
export type RankActor = (actor: EventActor) => EventActor;

/** Compiles `actors` of a mapping; `undefined` where no preset knows the actor. */
export function compileRank(
  { auth, actors }: Pick<MappingConfig, "auth" | "actors">,
  preset: Preset | undefined,
): RankActor | undefined {
  if (preset === undefined) return undefined;
  if (!preset.vouchesForActors || !isVouched(auth)) return (actor) => ({ ...actor, level: "unknown" });
  const roles = actors?.roles ?? new Map(Object.entries(preset.roles));
  const levelOf = ({ id, role }: EventActor): Level =>
    (id === undefined ? undefined : actors?.levels.get(id)) ??
    (role === undefined ? undefined : roles.get(role)) ??
    "unknown";
  return (actor) => ({ ...actor, level: levelOf(actor) });
}

/** True when the sender itself is known to say who acted: whoever holds the hook token can write any name into a payload. */
function isVouched(auth: MappingConfig["auth"]): boolean {
  return auth !== undefined && (auth.scheme !== "signature" || signsBody(auth));
}
