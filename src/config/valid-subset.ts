import { HooksSchema, type HooksInput, type MappingInput } from "./hooks.ts";
import type { PresetBlockInput } from "./preset.ts";
import type { SchemaIssue } from "./schema-check.ts";

/** What of a block the schema has nothing against, so that the rest can be judged all the same. */
export interface ValidSubset {
  /** Without the keys that are wrong somewhere, and without `mappings`. */
  readonly input: Omit<HooksInput, "mappings">;
  /** In their places; one that is wrong somewhere is a hole. */
  readonly mappings: readonly (MappingInput | undefined)[];
  /** True when the schema has nothing against any of the keys; only then a rule about them says the truth. */
  isValid(...keys: readonly string[]): boolean;
  /** `hooks.<preset>`, if it is there and sound. */
  block(preset: string): PresetBlockInput | undefined;
}

/** Takes out of a block what the schema refuses; of the mappings, only the ones that are wrong. */
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

/** True for a name under which a preset's settings can stand; the block's own keys keep their meaning. */
export function isPresetKey(name: string): boolean {
  return !Object.hasOwn(HooksSchema.properties, name);
}
