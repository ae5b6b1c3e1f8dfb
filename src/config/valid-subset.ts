import { HooksSchema, type HooksInput, type MappingInput } from "./hooks.ts";
import type { PresetBlockInput } from "./preset.ts";
import type { SchemaIssue } from "./schema-check.ts";

/** The parts of a block that the schema accepts, so that further rules can check them too. */
export interface ValidSubset {
  /** Without the refused keys and without `mappings`. */
  readonly input: Omit<HooksInput, "mappings">;
  /** In their places; a refused one is `undefined`. */
  readonly mappings: readonly (MappingInput | undefined)[];
  /** True when the schema accepts all of these keys. A rule about a key that it refuses would mislead. */
  isValid(...keys: readonly string[]): boolean;
  /** `hooks.<preset>`, where it is written and valid. */
  block(preset: string): PresetBlockInput | undefined;
}

/** Leaves out the keys that the schema refuses and, of the mappings, only those that it refuses. */
export function validSubset(raw: object, issues: readonly SchemaIssue[]): ValidSubset {
  const broken = new Set<string>();
  const brokenMappings = new Set<number>();
  for (const { keys } of issues) {
    const [key, at] = keys;
    broken.add(String(key));
    if (key === "mappings" && typeof at === "number") brokenMappings.add(at);
  }
  const whole = raw as HooksInput;
  const entries = Object.entries(whole).filter(([key]) => !broken.has(key) && key !== "mappings");
  const isListBroken = issues.some(({ keys }) => keys.length === 1 && keys[0] === "mappings");
  const mappings = isListBroken ? [] : (whole.mappings ?? []);
  const input = Object.fromEntries(entries);
  return {
    input,
    mappings: mappings.map((mapping, at) => (brokenMappings.has(at) ? undefined : mapping)),
    block: (preset) =>
      isPresetKey(preset) && Object.hasOwn(input, preset) ? (input[preset] as PresetBlockInput) : undefined,
    isValid: (...keys) => keys.every((key) => !broken.has(key)),
  };
}

/** True for a name that can hold a preset's settings. The keys of the block itself keep their meaning. */
export function isPresetKey(name: string): boolean {
  return !Object.hasOwn(HooksSchema.properties, name);
}
