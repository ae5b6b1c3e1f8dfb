/** Adopting without some of the mappings of a block. */
import { type Fields, fieldsAt } from "../fields.ts";

const MAPPING = /\bmappings\[(\d+)\]/g;

/** A configuration without some of its `hooks.mappings`. */
export interface SkippedMappings {
  readonly config: Fields;
  /** A text about that configuration, with the places that its mappings have in the whole one. */
  readonly inWhole: (text: string) => string;
}

/** Leaves mappings out, by their places. */
export function skipMappings(config: Fields, skipped: ReadonlySet<number>): SkippedMappings {
  const hooks = fieldsAt(config, "hooks");
  const { mappings } = hooks as { readonly mappings?: unknown };
  if (skipped.size === 0 || !Array.isArray(mappings)) return { config, inWhole: (text) => text };
  const kept = mappings.map((_, at) => at).filter((at) => !skipped.has(at));
  return {
    config: { ...config, hooks: { ...hooks, mappings: kept.map((at): unknown => mappings[at]) } },
    inWhole: (text) => text.replaceAll(MAPPING, (_whole, at: string) => `mappings[${kept[Number(at)] ?? at}]`),
  };
}

/** The places of the mappings that a text is about. */
export function mappingsIn(text: string): readonly number[] {
  return [...text.matchAll(MAPPING)].map(([, at]) => Number(at));
}
