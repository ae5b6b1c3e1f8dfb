import { compilePath, type CompiledPath, lookup } from "../../core/payload-path.ts";
import type { PayloadContext } from "../../core/delivery.ts";
import { type Wait, WAIT_LISTS, type WaitMatch } from "../../core/wait.ts";
import { compileCondition, type CompiledCondition } from "../../mapping/condition/condition.ts";
import { compileEventPatterns } from "../../mapping/filter.ts";
import type { WaitPlace } from "./progress.ts";

/** Forms of matches for one hook: an event's name, and the path of a value that must be equal. */
export const MAX_SHAPES = 32;
/** Waits for the same event with the same value. */
export const MAX_ALIKE = 16;

/** One match of a wait, made ready. */
interface Entry {
  readonly waitId: string;
  readonly place: WaitPlace;
  readonly condition: CompiledCondition | undefined;
}

/** Matches that differ by their value alone. */
interface Shape {
  readonly takes: ((event: string) => boolean) | undefined;
  readonly path: CompiledPath | undefined;
  readonly byValue: Map<string, Entry[]>;
}

const NONE: ReadonlySet<string> = new Set();

/** The mapping and the preset of a call. */
export interface WaitedHook {
  readonly id: string;
  readonly preset: string | undefined;
}

/**
 * Finds the waits that an event is for. Its cost has a bound that does not grow with their number: it looks at the
 * shapes of the hook, of which there are at most {@link MAX_SHAPES}, and at those that agree in all but the condition,
 * of which there are at most {@link MAX_ALIKE}. A hook for which no session waits costs one look-up, or two with a preset.
 */
export class WaitIndex {
  readonly #hooks = new Map<string, Map<string, Shape>>();

  /**
   * Why the matches cannot be added; `undefined`: they can. The waits `ending` take no place any more. Throws a `TypeError`
   * for a condition that is none.
   */
  problem(matches: readonly WaitMatch[], ending = NONE): string | undefined {
    for (const match of matches) {
      if (match.when !== undefined) compileCondition(match.when);
      const shapes = this.#hooks.get(hookKey(match));
      const shape = shapes?.get(shapeKey(match));
      if (shape === undefined && shapes !== undefined && shapesWithout(ending, shapes) >= MAX_SHAPES) {
        return `Waits for ${hookName(match)} differ in event and path of the value in ${MAX_SHAPES} ways already; use one of these.`;
      }
      const alike = shape?.byValue.get(valueKey(match)) ?? [];
      if (without(ending, alike).length >= MAX_ALIKE) {
        return `${MAX_ALIKE} waits are for the same event of ${hookName(match)} already; name a correlation that tells them apart.`;
      }
    }
    return undefined;
  }

  add(wait: Wait): void {
    for (const list of WAIT_LISTS) {
      for (const [index, match] of wait[list].entries()) this.#addMatch(wait.id, { list, index }, match);
    }
  }

  remove(wait: Wait): void {
    for (const list of WAIT_LISTS) for (const match of wait[list]) this.#removeMatch(wait.id, match);
  }

  /** Places of the waits that the event is for, by their ids; `undefined`: of none. */
  find({ id, preset }: WaitedHook, context: PayloadContext): ReadonlyMap<string, readonly WaitPlace[]> | undefined {
    if (this.#hooks.size === 0) return undefined;
    const ofHook = this.#hooks.get(`hook ${id}`);
    const ofSender = preset === undefined ? undefined : this.#hooks.get(`sender ${preset}`);
    if (ofHook === undefined && ofSender === undefined) return undefined;
    const found = new Map<string, WaitPlace[]>();
    for (const shapes of [ofHook, ofSender]) {
      for (const shape of shapes?.values() ?? []) collect(shape, context, found);
    }
    return found.size === 0 ? undefined : found;
  }

  #addMatch(waitId: string, place: WaitPlace, match: WaitMatch): void {
    const key = hookKey(match);
    const shapes = this.#hooks.get(key) ?? new Map<string, Shape>();
    this.#hooks.set(key, shapes);
    const shape = shapes.get(shapeKey(match)) ?? shapeOf(match);
    shapes.set(shapeKey(match), shape);
    const entries = shape.byValue.get(valueKey(match)) ?? [];
    shape.byValue.set(valueKey(match), entries);
    entries.push({ waitId, place, condition: match.when === undefined ? undefined : compileCondition(match.when) });
  }

  /** What is empty goes, so that a hook costs nothing again. */
  #removeMatch(waitId: string, match: WaitMatch): void {
    const shapes = this.#hooks.get(hookKey(match));
    const shape = shapes?.get(shapeKey(match));
    if (shapes === undefined || shape === undefined) return;
    const left = (shape.byValue.get(valueKey(match)) ?? []).filter((entry) => entry.waitId !== waitId);
    if (left.length > 0) shape.byValue.set(valueKey(match), left);
    else shape.byValue.delete(valueKey(match));
    if (shape.byValue.size === 0) shapes.delete(shapeKey(match));
    if (shapes.size === 0) this.#hooks.delete(hookKey(match));
  }
}

function without(ending: ReadonlySet<string>, entries: readonly Entry[]): readonly Entry[] {
  return ending.size === 0 ? entries : entries.filter(({ waitId }) => !ending.has(waitId));
}

/** Shapes that are left when these waits have ended. */
function shapesWithout(ending: ReadonlySet<string>, shapes: ReadonlyMap<string, Shape>): number {
  if (ending.size === 0) return shapes.size;
  const isLeft = ({ byValue }: Shape): boolean =>
    [...byValue.values()].some((entries) => without(ending, entries).length > 0);
  return [...shapes.values()].filter(isLeft).length;
}

function collect({ takes, path, byValue }: Shape, context: PayloadContext, found: Map<string, WaitPlace[]>): void {
  if (takes !== undefined && (context.event === undefined || !takes(context.event))) return;
  const value = path === undefined ? "" : scalarText(lookup(context.payload, path));
  if (value === undefined) return;
  for (const { waitId, place, condition } of byValue.get(value) ?? []) {
    if (condition?.miss(context) !== undefined) continue;
    const places = found.get(waitId);
    if (places === undefined) found.set(waitId, [place]);
    else places.push(place);
  }
}

function shapeOf({ event, correlation }: WaitMatch): Shape {
  const patterns = event === undefined ? undefined : compileEventPatterns([event]);
  return {
    takes: patterns && ((name) => patterns.matches(name)),
    path: correlation && compilePath(correlation.path),
    byValue: new Map(),
  };
}

function hookKey({ hook, sender }: WaitMatch): string {
  return hook === undefined ? `sender ${sender}` : `hook ${hook}`;
}

function hookName({ hook, sender }: WaitMatch): string {
  return JSON.stringify(hook ?? sender);
}

function shapeKey({ event, correlation }: WaitMatch): string {
  return JSON.stringify([event?.toLowerCase() ?? null, correlation?.path ?? null]);
}

function valueKey({ correlation }: WaitMatch): string {
  return correlation?.equals ?? "";
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}
