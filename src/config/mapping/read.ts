import type { AuthSources } from "../auth/secrets.ts";
import { closestKey, type KeyPath, showKeyPath, showNames, showValue } from "../show-value.ts";
import {
  type ConfiguredPreset,
  type ConfiguredPresets,
  checkSettings,
  checkWrittenSettings,
  missingSetting,
  resolveSettings,
} from "../preset-settings.ts";
import type { ConfigIssue, Findings } from "../errors.ts";
import { GMAIL, readGmail } from "../gmail.ts";
import type { MappingConfig, PresetSettings } from "./schema.ts";
import type { RetryConfig } from "../retry.ts";
import { checkRelease } from "./release-rules.ts";
import { checkMapping, checkRoutes, findShadows, warnOfNoSender } from "./rules.ts";
import { brokenBy, UNVERIFIABLE } from "../set-aside.ts";
import { fillIn, normalizeMapping } from "./normalize.ts";
import type { PresetBlockInput } from "../preset.ts";
import { readAuth, refuseMissingSecret } from "../auth/read.ts";
import type { MappingInput } from "../hooks.ts";

/** The mappings in order, and those of them that can take effect at all. */
export interface ReadMappings {
  readonly mappings: readonly MappingConfig[];
  /** Without own ones that an earlier one shadows. */
  readonly effective: readonly MappingConfig[];
}

/** The context of reading mappings. */
export interface MappingContext {
  readonly presets: ConfiguredPresets;
  /** Names of the presets that are enabled and known. */
  readonly enabledPresets: readonly string[];
  /** `undefined` while hooks are off: nothing is looked up then. */
  readonly sources: AuthSources;
  /** `hooks.retry`. */
  readonly retry: RetryConfig;
  readonly findings: Findings;
}

/**
 * Normalizes the mappings, then one for each enabled preset, and checks each by itself and against the
 * others. An `undefined` entry is a mapping that the schema refused; the others keep their numbers.
 */
export function readMappings(inputs: readonly (MappingInput | undefined)[], context: MappingContext): ReadMappings {
  const { findings } = context;
  const places = inputs.map((input, at) => input && readOwn(input, at, context));
  const own = places.filter((mapping) => mapping !== undefined);
  refuseRepeatedIds(own, findings);
  const shadows = findShadows(places);
  for (const [at, by] of shadows.entries()) {
    if (by === undefined) continue;
    findings.warn(`hooks.mappings[${at}]`, `never takes effect: hooks.mappings[${by}] takes all its requests`);
  }
  const brought = readEnabled(own, context);
  const effective = places.filter((mapping, at) => mapping !== undefined && shadows[at] === undefined);
  const mappings = [...own, ...brought];
  checkRoutes(
    mappings.filter(({ broken }) => broken === undefined),
    findings,
  );
  return { mappings, effective: [...(effective as MappingConfig[]), ...brought] };
}

function readOwn(input: MappingInput, at: number, context: MappingContext): MappingConfig {
  const { findings, sources, retry } = context;
  const where = `hooks.mappings[${at}]`;
  const preset = findPreset(input.preset, where, context);
  const found = preset && readSettings(preset, input, ["hooks", "mappings", at, "settings"], context);
  const { settings = {}, missing } = found ?? {};
  const base = preset && found && { part: preset.part, mapping: missing ? {} : preset.part.mapping(settings) };
  const mapping = normalizeMapping(input, at, findings, base, retry);
  // Without its preset no further rule can check the mapping.
  if (input.preset !== undefined && base === undefined) return mapping;
  checkMapping(mapping, input, findings);
  if (preset === undefined) refusePresetKeys(input, where, findings);
  else refuseUnknown(mapping, preset, findings);
  if (missing) return withoutSetting(mapping, missing);
  const place = { where, written: input, preset, settings, handshakes: mapping.handshakes };
  const whole = { ...mapping, settings, auth: readAuth(place, sources, findings) };
  warnOfNoSender(whole, input, findings);
  if (preset && sources) checkRelease(whole, preset.part, findings);
  return whole;
}

/** The preset that a mapping names; one that there is not is refused while hooks are on. */
function findPreset(written: string | undefined, where: string, context: MappingContext): ConfiguredPreset | undefined {
  const name = written?.trim();
  if (name === undefined) return undefined;
  const preset = context.presets.get(name);
  if (preset === undefined && context.sources !== undefined) {
    const known = context.presets.names();
    const closest = closestKey(name, known);
    const hint = closest === undefined ? `known are ${showNames(known)}` : `did you mean "${closest}"?`;
    context.findings.refuse(`${where}.preset`, `${showValue(name)} is not a preset; ${hint}`);
  }
  return preset?.isValid ? preset : undefined;
}

interface MappingSettings {
  readonly settings: PresetSettings;
  /** What one of them refers to and is not there. */
  readonly missing?: ConfigIssue | undefined;
}

/** A preset's settings for one mapping, or `undefined` when they are refused; `root` is where its own stand. */
function readSettings(
  preset: ConfiguredPreset,
  { settings = {} }: Pick<MappingInput, "settings">,
  root: KeyPath,
  { sources, findings }: MappingContext,
): MappingSettings | undefined {
  const issues = checkWrittenSettings(preset.part, settings, root);
  for (const { path, message } of issues) findings.refuse(path, message);
  if (issues.length > 0) return undefined;
  const where = `hooks.mappings[${String(root[2])}].settings`;
  const written = settings as PresetSettings;
  if (preset.part.name === GMAIL) return { settings: { ...readGmail(written, preset.settings) } };
  const all = { ...preset.settings, ...resolveSettings(preset.part, written, { where, sources, findings }) };
  if (sources === undefined) return { settings: all };
  const isComplete = checkSettings(preset.part, all, [root, preset.root], findings);
  const missing = missingSetting(preset.part, all, [root, preset.root], findings);
  return isComplete || missing ? { settings: all, missing } : undefined;
}

/** Sets a mapping aside for a setting: what its preset makes of its settings is not known, nor how calls are verified. */
function withoutSetting(mapping: MappingConfig, missing: ConfigIssue): MappingConfig {
  return brokenBy({ ...mapping, auth: UNVERIFIABLE }, missing);
}

/** Keys that only a preset gives a meaning. */
const PRESET_KEYS = [
  "settings",
  "events",
  "ignoreActors",
  "ignoreSenders",
  "ignoreBots",
  "chat",
  "actors",
  "rights",
  "minLevel",
  "below",
  "release",
] as const;

function refusePresetKeys(input: MappingInput, where: string, findings: Findings): void {
  for (const key of PRESET_KEYS) {
    if (input[key] === undefined) continue;
    findings.refuse(`${where}.${key}`, "has no effect without preset, which knows the sender; leave it out");
  }
}

/** Refuses what the preset knows nothing of. */
function refuseUnknown(
  { where, events, chat, actors }: MappingConfig,
  { part }: ConfiguredPreset,
  findings: Findings,
): void {
  if (events.length > 0 && part.eventSource === undefined) {
    findings.refuse(
      `${where}.events`,
      `would take nothing: the preset ${part.name} has no names for its events; use when`,
    );
  }
  if (actors && !part.vouchesForActors) {
    findings.refuse(
      `${where}.actors`,
      `would have no effect: the preset ${part.name} does not authenticate who acted, so everyone is unknown`,
    );
  }
  if (chat && !part.hasChat) {
    findings.refuse(`${where}.chat`, `cannot be used: the preset ${part.name} knows no messages of a private chat`);
  }
}

function refuseRepeatedIds(mappings: readonly MappingConfig[], findings: Findings): void {
  const first = new Map<string, string>();
  for (const { id, where } of mappings) {
    const other = first.get(id);
    if (other === undefined) first.set(id, where);
    else findings.refuse(`${where}.id`, `${showValue(id)} is also the id of ${other}; give it another`);
  }
}

/** The mappings of the enabled presets and of the named senders; one whose id is taken gets a prefix. */
function readEnabled(own: readonly MappingConfig[], context: MappingContext): MappingConfig[] {
  const taken = new Set(own.map(({ id }) => id));
  const brought: MappingConfig[] = [];
  for (const name of context.enabledPresets) {
    const preset = context.presets.get(name);
    if (!preset?.isValid) continue;
    const id = freeId(name, taken);
    taken.add(id);
    const mapping = readPresetMapping(preset, id, context);
    if (mapping !== undefined) brought.push(mapping);
  }
  for (const sender of context.sources === undefined ? [] : context.presets.named()) {
    const id = freeId(sender.name, taken);
    taken.add(id);
    const mapping = readPresetMapping(sender, id, context);
    if (mapping !== undefined) brought.push(mapping);
  }
  return brought;
}

/** The mappings under ids that no other one has: by its id, a mapping has its budgets, its transform and its state. */
export function withFreeIds(mappings: readonly MappingConfig[], others: readonly MappingConfig[]): MappingConfig[] {
  const taken = new Set(others.map(({ id }) => id));
  return mappings.map((mapping) => {
    const id = freeId(mapping.id, taken);
    taken.add(id);
    return { ...mapping, id };
  });
}

function freeId(wanted: string, taken: ReadonlySet<string>): string {
  let id = wanted;
  while (taken.has(id)) id = `preset-${id}`;
  return id;
}

function readPresetMapping(
  preset: ConfiguredPreset,
  id: string,
  { sources, retry, findings }: MappingContext,
): MappingConfig | undefined {
  const { part, name, root, block, settings } = preset;
  const where = showKeyPath(root);
  const isComplete = part.name === GMAIL || checkSettings(part, settings, [root], findings);
  const missing = missingSetting(part, settings, [root], findings);
  if (!isComplete || missing) {
    // The signature may depend on the settings; the need for a secret does not.
    if (part.secret?.required && preset.secrets.key === undefined) refuseMissingSecret(part, where, findings);
    if (!missing) return undefined;
  }
  const input = { match: { path: name }, ...mappingOf(block, part) };
  const base = { part, mapping: missing ? {} : part.mapping(settings) };
  const mapping = fillIn(input, { id, where, retry }, findings, base);
  checkMapping(mapping, input, findings);
  refuseUnknown(mapping, preset, findings);
  if (missing) return withoutSetting({ ...mapping, sender: name }, missing);
  const auth = readAuth({ where, written: {}, preset, settings, handshakes: mapping.handshakes }, sources, findings);
  if (sources) checkRelease({ ...mapping, auth }, part, findings);
  return { ...mapping, sender: name, settings, auth };
}

/** The keys of a block that a mapping has as well; settings of the same name are the preset's own. */
function mappingOf({ path, ...block }: PresetBlockInput, { settings }: PresetPartSettings): MappingInput {
  const own = new Set(Object.keys(settings?.properties ?? {}));
  const keys = Object.entries(block).filter(([key]) => !own.has(key) && key !== "auth" && key !== "secret");
  return {
    ...(Object.fromEntries(keys) as MappingInput),
    ...(path === undefined || own.has("path") ? {} : { match: { path } }),
  };
}

type PresetPartSettings = Pick<ConfiguredPreset["part"], "settings">;
