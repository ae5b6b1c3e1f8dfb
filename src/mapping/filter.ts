import type { MappingConfig } from "../config/mapping/schema.ts";
import { isBelow, type LeastLevel } from "../config/mapping/actors.ts";
import type { EventActor, PayloadContext } from "../core/delivery.ts";
import { compileCondition, showSeen } from "./condition/condition.ts";

/** The filters of a mapping. */
export interface CompiledFilter {
  /** The clause that a request does not meet and the value it saw; `undefined` when it meets all. Never throws. */
  miss(context: PayloadContext): string | undefined;
  /** The same for the clauses alone that are about the actor: they hold for an event that a session waits for, too. */
  missActor(context: PayloadContext): string | undefined;
}

type Clause = CompiledFilter["miss"];

/**
 * Compiles `actors.blocked`, `minLevel`, `events`, `ignoreActors`, `ignoreBots` and `when`, which are asked in this order; `undefined`
 * for a mapping that every request passes.
 */
export function compileFilter(config: MappingConfig): CompiledFilter | undefined {
  const first = [blockedClause(config), leastLevelClause(config)];
  const ofActor = [ignoreActorsClause(config), ignoreBotsClause(config)];
  const asked = asOne([...first, eventsClause(config), ...ofActor, whenClause(config)]);
  return asked && { miss: asked, missActor: asOne([...first, ...ofActor]) ?? (() => undefined) };
}

/** `undefined` where nothing is asked. */
function asOne(clauses: readonly (Clause | undefined)[]): Clause | undefined {
  const asked = clauses.filter((clause) => clause !== undefined);
  if (asked.length === 0) return undefined;
  return (context) => {
    for (const clause of asked) {
      const reason = clause(context);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
}

function blockedClause({ actors }: MappingConfig): Clause | undefined {
  const { blocked } = actors ?? {};
  if (blocked === undefined || blocked.size === 0) return undefined;
  return ({ actor }) => {
    const isBlocked = actor?.id !== undefined && blocked.has(actor.id);
    return isBlocked ? `actors.blocked has the actor ${showSeen(actor.name)} (${showSeen(actor.id)})` : undefined;
  };
}

function leastLevelClause({ leastLevel }: MappingConfig): Clause | undefined {
  if (leastLevel?.below !== "filter") return undefined;
  return ({ actor }) => (isBelow(actor, leastLevel) ? `minLevel: ${belowText(actor, leastLevel)}` : undefined);
}

/** `the actor "ada" is unknown, which is below trusted`. */
export function belowText(actor: EventActor | undefined, { level }: LeastLevel): string {
  const who = actor === undefined ? "the actor" : `the actor ${showSeen(actor.name)}`;
  return `${who} is ${actor?.level ?? "unknown"}, which is below ${level}`;
}

function eventsClause({ events }: MappingConfig): Clause | undefined {
  if (events.length === 0) return undefined;
  const patterns = compileEventPatterns(events);
  return ({ event }) => {
    if (event === undefined) return "events: the request's event is not known";
    return patterns.matches(event) ? undefined : `events: ${showSeen(event)} is none of them`;
  };
}

function ignoreActorsClause({ ignoreActors: ignoreSenders }: MappingConfig): Clause | undefined {
  if (ignoreSenders.length === 0) return undefined;
  const ignores = ignoreSenders.map(compileNamePattern);
  return ({ actor }) => {
    if (actor === undefined) return undefined;
    const { name, id } = actor;
    const ignore = ignores.find((pattern) => pattern.matches(name) || (id !== undefined && pattern.matches(id)));
    return ignore && `ignoreActors: ${showSeen(ignore.pattern)} is the actor ${showSeen(name)}`;
  };
}

/** Only a preset knows its bots. */
function ignoreBotsClause({ ignoreBots, preset }: MappingConfig): Clause | undefined {
  if (!ignoreBots || preset === undefined) return undefined;
  return ({ actor }) => {
    if (!actor?.bot) return undefined;
    return `ignoreBots: the actor ${showSeen(actor.name)} is ${actor.own ? "the webhook's own app or account" : "a bot"}`;
  };
}

function whenClause({ when }: MappingConfig): Clause | undefined {
  if (when === undefined) return undefined;
  const condition = compileCondition(when);
  return (context) => condition.miss(context);
}

/** An entry of `ignoreActors`, made ready. */
interface NamePattern {
  readonly pattern: string;
  matches(name: string): boolean;
}

/**
 * Compiles an entry of `ignoreActors`: a name without regard to case, in which `*` matches any
 * characters. Matching takes time in proportion to both lengths at most; there is no backtracking.
 */
export function compileNamePattern(pattern: string): NamePattern {
  const [first = "", ...rest] = pattern.toLowerCase().split("*");
  if (rest.length === 0) return { pattern, matches: (name) => name.toLowerCase() === first };
  const last = rest.pop()!;
  return {
    pattern,
    matches(name) {
      const text = name.toLowerCase();
      if (!text.startsWith(first) || text.length < first.length + last.length) return false;
      let at = first.length;
      for (const piece of rest) {
        const found = text.indexOf(piece, at);
        if (found === -1) return false;
        at = found + piece.length;
      }
      return at <= text.length - last.length && text.endsWith(last);
    },
  };
}

/** The `events` of a mapping, made ready. */
interface EventPatterns {
  /** True when any of the events of a request, joined with `+` where there are several, is one of them. */
  matches(event: string): boolean;
}

/**
 * Compiles a list of event names: without regard to case, `*` matches any characters. Names without
 * `*` are looked up at a cost that does not grow with their number.
 */
export function compileEventPatterns(patterns: readonly string[]): EventPatterns {
  const names = new Set(patterns.filter((pattern) => !pattern.includes("*")).map((name) => name.toLowerCase()));
  const wild = patterns.filter((pattern) => pattern.includes("*")).map(compileNamePattern);
  const takes = (event: string): boolean =>
    names.has(event.toLowerCase()) || wild.some((pattern) => pattern.matches(event));
  return { matches: (event) => takes(event) || (event.includes("+") && event.split("+").some(takes)) };
}
