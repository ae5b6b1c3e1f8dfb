import type { MappingConfig } from "./hooks-config.ts";

/**
 * For each mapping the place of an earlier one that takes all its requests, if there is one: the
 * earlier has no path or the same, and no source or the same. What is shadowed never takes effect.
 * Costs the same for each mapping, however many there are.
 */
export function findShadows(mappings: readonly (MappingConfig | undefined)[]): (number | undefined)[] {
  const firstOf = new Map<string, number>();
  return mappings.map((mapping, at) => {
    if (!mapping) return undefined;
    const { path, source } = mapping.match;
    const own = key(path, source);
    const covering = [key(undefined, undefined), key(path, undefined), key(undefined, source), own];
    const places = covering.map((each) => firstOf.get(each)).filter((place) => place !== undefined);
    if (places.length > 0) return Math.min(...places);
    firstOf.set(own, at);
    return undefined;
  });
}

function key(path: string | undefined, source: string | undefined): string {
  return JSON.stringify([path ?? "", source ?? ""]);
}
