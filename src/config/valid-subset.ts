import { HooksSchema, type HooksInput, type MappingInput } from "./hooks.ts";
import type { SenderBlockInput } from "./named-senders.ts";
import type { PresetBlockInput } from "./preset.ts";
import type { SchemaIssue } from "./schema-check.ts";

/** The parts of a block that the schema accepts, so that further rules can check them too. */
export interface ValidSubset {
  /** Without the refused keys and without `mappings`. */
  readonly input: Omit<HooksInput, "mappings">;
  /** In their places; a refused one is `undefined`. */
  readonly mappings: readonly (MappingInput | undefined)[];
  /** The valid keys of refused mappings, by their places. */
  readonly refusedMappings: ReadonlyMap<number, MappingInput>;
  /** True when the schema accepts all of these keys. A rule about a key that it refuses would mislead. */
  isValid(...keys: readonly string[]): boolean;
  /** The valid ones of `hooks.senders` by their names. */
  readonly senders: ReadonlyMap<string, SenderBlockInput>;
  /** `hooks.<preset>`, where it is written and valid. */
  block(preset: string): PresetBlockInput | undefined;
}

/** Leaves out the keys that the schema refuses and, of the mappings, only those that it refuses. */
export function validSubset(raw: object, issues: readonly SchemaIssue[]): ValidSubset {
  const broken = new Set<string>();
  for (const { keys } of issues) broken.add(String(keys[0]));
  const whole = raw as HooksInput;
  const entries = Object.entries(whole).filter(([key]) => !broken.has(key) && key !== "mappings");
  const isListBroken = issues.some(({ keys }) => keys.length === 1 && keys[0] === "mappings");
  const mappings = isListBroken ? [] : (whole.mappings ?? []);
  const refusedMappings = validKeysOf(mappings, issues);
  const input = Object.fromEntries(entries);
  return {
    input,
    mappings: mappings.map((mapping, at) => (refusedMappings.has(at) ? undefined : mapping)),
    refusedMappings,
    senders: validSenders(whole.senders, issues),
    block: (preset) =>
      isPresetKey(preset) && Object.hasOwn(input, preset) ? (input[preset] as PresetBlockInput) : undefined,
    isValid: (...keys) => keys.every((key) => !broken.has(key)),
  };
}

function validSenders(
  written: HooksInput["senders"],
  issues: readonly SchemaIssue[],
): ReadonlyMap<string, SenderBlockInput> {
  const refused = issues.filter(({ keys }) => keys[0] === "senders").map(({ keys }) => keys[1]);
  if (refused.includes(undefined)) return new Map();
  return new Map(Object.entries(written ?? {}).filter(([name]) => !refused.includes(name)));
}

function validKeysOf(
  mappings: readonly MappingInput[],
  issues: readonly SchemaIssue[],
): ReadonlyMap<number, MappingInput> {
  const valid = new Map<number, MappingInput>();
  for (const { keys } of issues) {
    const [key, at, name] = keys;
    if (key !== "mappings" || typeof at !== "number") continue;
    const written = valid.get(at) ?? mappings[at];
    const entries = name === undefined ? [] : Object.entries(written ?? {}).filter(([each]) => each !== String(name));
    valid.set(at, Object.fromEntries(entries) as MappingInput);
  }
  return valid;
}

/** True for a name that can hold a preset's settings. The keys of the block itself keep their meaning. */
export function isPresetKey(name: string): boolean {
  return !Object.hasOwn(HooksSchema.properties, name);
}
