import type { MappingConfig } from "../config/hooks-config.ts";
import type { PayloadContext } from "../core/delivery.ts";
import { compileCondition } from "./condition/condition.ts";
import { compileEventPatterns } from "./event-pattern.ts";
import { compileIgnorePattern } from "./ignore-pattern.ts";
import { showSeen } from "./show-seen.ts";

/** What decides whether a request is for the mapping's agent at all. */
export interface CompiledFilter {
  /** The clause that a request does not meet and the value it saw; `undefined` when it meets all. Never throws. */
  miss(context: PayloadContext): string | undefined;
}

type Clause = CompiledFilter["miss"];

/**
 * Compiles `events`, `ignoreSenders`, `ignoreBots` and `when`, which are asked in this order; `undefined`
 * for a mapping that every request passes.
 */
export function compileFilter(config: MappingConfig): CompiledFilter | undefined {
  const clauses = [eventsClause(config), ignoreSendersClause(config), ignoreBotsClause(config), whenClause(config)];
  const asked = clauses.filter((clause) => clause !== undefined);
  if (asked.length === 0) return undefined;
  return {
    miss(context) {
      for (const clause of asked) {
        const reason = clause(context);
        if (reason !== undefined) return reason;
      }
      return undefined;
    },
  };
}

function eventsClause({ events }: MappingConfig): Clause | undefined {
  if (events.length === 0) return undefined;
  const patterns = compileEventPatterns(events);
  return ({ event }) => {
    if (event === undefined) return "events: the request's event is not known";
    return patterns.take(event) ? undefined : `events: ${showSeen(event)} is none of them`;
  };
}

function ignoreSendersClause({ ignoreActors: ignoreSenders }: MappingConfig): Clause | undefined {
  if (ignoreSenders.length === 0) return undefined;
  const ignores = ignoreSenders.map(compileIgnorePattern);
  return ({ actor }) => {
    if (actor === undefined) return undefined;
    const { name, id } = actor;
    const ignore = ignores.find((pattern) => pattern.matches(name) || (id !== undefined && pattern.matches(id)));
    return ignore && `ignoreActors: ${showSeen(ignore.pattern)} is the actor ${showSeen(name)}`;
  };
}

/** Only a preset can tell a bot. */
function ignoreBotsClause({ ignoreBots, preset }: MappingConfig): Clause | undefined {
  if (!ignoreBots || preset === undefined) return undefined;
  return ({ actor }) => (actor?.bot ? `ignoreBots: the actor ${showSeen(actor.name)} is a bot` : undefined);
}

function whenClause({ when }: MappingConfig): Clause | undefined {
  if (when === undefined) return undefined;
  const condition = compileCondition(when);
  return (context) => condition.miss(context);
}
