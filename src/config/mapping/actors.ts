/** `actors` of a mapping: how far the owner trusts the people behind its events. */
import Type, { type Static } from "typebox";
import { type EventActor, type Level, LEVELS } from "../../core/delivery.ts";
import type { Findings } from "../errors.ts";
import { text } from "../schema-parts.ts";
import { showValue } from "../show-value.ts";

const MAX_ACTORS = 1_000;

const ids = (description: string) =>
  Type.Optional(
    Type.Array(text({ description: "", title: "an id of the sender", pattern: "\\S" }), {
      maxItems: MAX_ACTORS,
      description,
    }),
  );

export const ActorsSchema = Type.Object(
  {
    owner: ids("Your own accounts, by the sender's ids. A name is no id: anyone can take it."),
    trusted: ids("Accounts whose word counts nearly as yours, by id."),
    known: ids("Accounts that you know, by id."),
    blocked: ids("Accounts whose events are filtered, by id."),
    authors: Type.Optional(
      Type.Enum(["count", "ignore"], {
        description:
          "`count`: an event that carries text of someone else, such as the issue that you close, has the least level of all who wrote. `ignore`: the level of who acts alone. Absent: `count`.",
      }),
    ),
    roles: Type.Optional(
      Type.Record(Type.String(), Type.Enum([...LEVELS]), {
        description:
          "Level of those whom no list names, by the role that the sender's payload states, such as `MEMBER` at GitHub. Absent: as the preset has it. A role that is not listed: `unknown`.",
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      "Levels of the people behind the events: `owner`, `trusted`, `known` or `unknown`, for `actor.level` in `when`, lists and `rights`. Only what the sender signs counts: without it, everyone is `unknown`. Needs `preset`.",
  },
);

export interface ActorsConfig {
  /** By the sender's id. */
  readonly levels: ReadonlyMap<string, Level>;
  readonly blocked: ReadonlySet<string>;
  readonly authors: "count" | "ignore";
  /** By role; `undefined`: as the preset has it. */
  readonly roles: ReadonlyMap<string, Level> | undefined;
}

/** Reads the key; `where` is the key of the mapping. */
export function readActors(
  { blocked = [], roles, authors = "count", ...lists }: Static<typeof ActorsSchema>,
  where: string,
  findings: Findings,
): ActorsConfig {
  const levels = new Map<string, Level>();
  const listed = (["owner", "trusted", "known"] as const).flatMap((level) =>
    (lists[level] ?? []).map((id) => [level, id.trim()] as const),
  );
  for (const [level, id] of listed) {
    const other = levels.get(id);
    if (other !== undefined) {
      findings.refuse(`${where}.actors.${level}`, `${showValue(id)} is in ${other} as well; name it once`);
    }
    levels.set(id, level);
  }
  const refused = new Set(blocked.map((id) => id.trim()));
  for (const id of refused) {
    const other = levels.get(id);
    if (other === undefined) continue;
    findings.refuse(`${where}.actors.blocked`, `${showValue(id)} is in ${other} as well; name it once`);
  }
  return { levels, blocked: refused, authors, roles: roles && new Map(Object.entries(roles)) };
}

export const MIN_LEVEL = Type.Optional(
  Type.Enum([...LEVELS], {
    description: "The least level of an actor (see `actors`) whose events begin a run at once. Absent: `unknown`.",
  }),
);
export const BELOW = Type.Optional(
  Type.Enum(["quarantine", "filter"], {
    description:
      "What happens to an event below `minLevel`. `quarantine`: it is held without asking any model, until you release or cancel it, or for `maxAgeSeconds` (7 days when absent). `filter`: it is filtered. Absent: `quarantine`.",
  }),
);

/** The level from which on events begin a run, and what happens to the others. */
export interface LeastLevel {
  readonly level: Level;
  readonly below: "quarantine" | "filter";
}

/** Reads `minLevel` and `below`; `undefined`: every event begins a run. */
export function readLeastLevel(
  minLevel: Level | undefined,
  below: LeastLevel["below"] | undefined,
  { where, findings }: { readonly where: string; readonly findings: Findings },
): LeastLevel | undefined {
  if (minLevel === undefined || minLevel === "unknown") {
    if (below !== undefined) findings.warn(`${where}.below`, "has no effect without minLevel");
    return undefined;
  }
  return { level: minLevel, below: below ?? "quarantine" };
}

/** True for an actor, or no known one, whose level is lower. */
export function isBelow(actor: EventActor | undefined, { level }: LeastLevel): boolean {
  return LEVELS.indexOf(actor?.level ?? "unknown") < LEVELS.indexOf(level);
}
