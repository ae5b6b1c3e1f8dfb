import type { Findings } from "./findings.ts";
import type { MappingConfig } from "./hooks-config.ts";
import { checkMapping } from "./mapping-rules.ts";
import { normalizeMapping } from "./normalize-mapping.ts";
import type { MappingInput } from "./schema.ts";
import { findShadows } from "./shadowing.ts";
import { showValue } from "./show-value.ts";

/** The own mappings in order, and those of them that can take effect at all. */
export interface ReadMappings {
  readonly mappings: readonly MappingConfig[];
  /** Without those that an earlier one shadows. */
  readonly effective: readonly MappingConfig[];
}

/**
 * Normalizes the mappings and judges each by itself and against the others. A hole is a mapping that
 * the schema refused; the others keep their numbers.
 */
export function readMappings(inputs: readonly (MappingInput | undefined)[], findings: Findings): ReadMappings {
  const places = inputs.map((input, at) => input && normalizeMapping(input, at, findings));
  const mappings = places.filter((mapping) => mapping !== undefined);
  for (const mapping of mappings) checkMapping(mapping, findings);
  refuseRepeatedIds(mappings, findings);
  const shadows = findShadows(places);
  for (const [at, by] of shadows.entries()) {
    if (by === undefined) continue;
    findings.warn(`hooks.mappings[${at}]`, `never takes effect: hooks.mappings[${by}] takes all its requests`);
  }
  const effective = places.filter((mapping, at) => mapping !== undefined && shadows[at] === undefined);
  return { mappings, effective: effective as MappingConfig[] };
}

function refuseRepeatedIds(mappings: readonly MappingConfig[], findings: Findings): void {
  const first = new Map<string, string>();
  for (const { id, where } of mappings) {
    const other = first.get(id);
    if (other === undefined) first.set(id, where);
    else findings.refuse(`${where}.id`, `${showValue(id)} is also the id of ${other}; give it another`);
  }
}
