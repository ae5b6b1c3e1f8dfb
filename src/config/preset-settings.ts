import { type AuthSources, readAuthSecrets, type ResolvedSecrets } from "./auth/secrets.ts";
import type { ConfigIssue, Findings } from "./errors.ts";
import { GMAIL, type GmailInput, GmailSchema, readGmail, type GmailConfig } from "./gmail.ts";
import type { PresetSettings } from "./mapping/schema.ts";
import { type SecretInput, readSecrets, type ReservedSecrets, secretProblem, type SecretSources } from "./secrets.ts";
import type { ValidSubset } from "./valid-subset.ts";
import {
  type PresetPart,
  declaredSettings,
  type PresetBlockInput,
  presetBlockSchema,
  writtenSettings,
} from "./preset.ts";
import { compileSchemaCheck, type SchemaCheck, type SchemaIssue } from "./schema-check.ts";
import { type KeyPath, showKeyPath } from "./show-value.ts";

interface PresetChecks {
  /** Of `hooks.<preset>`, as written. */
  readonly block: SchemaCheck;
  /** Of a mapping's `settings`, as written. */
  readonly settings: SchemaCheck;
  /** Of all settings together, secrets resolved. */
  readonly complete: SchemaCheck;
}

const checksOf = new WeakMap<PresetPart, PresetChecks>();

function compileChecks(preset: PresetPart): PresetChecks {
  let checks = checksOf.get(preset);
  if (!checks) {
    checks = {
      block: compileSchemaCheck(presetBlockSchema(preset)),
      settings: compileSchemaCheck(preset.name === GMAIL ? GmailSchema : writtenSettings(preset)),
      complete: compileSchemaCheck(declaredSettings(preset) ?? {}),
    };
    checksOf.set(preset, checks);
  }
  return checks;
}

/** The issues of a `hooks.<preset>` as written. */
export function checkPresetBlock(preset: PresetPart, written: unknown): SchemaIssue[] {
  return withRoot(compileChecks(preset).block(written), ["hooks", preset.name], [preset.name]);
}

/** The issues of a mapping's `settings` as written; `root` is their key. */
export function checkWrittenSettings(preset: PresetPart, written: unknown, root: KeyPath): SchemaIssue[] {
  return withRoot(compileChecks(preset).settings(written), root, []);
}

function withRoot(issues: readonly SchemaIssue[], root: KeyPath, start: KeyPath): SchemaIssue[] {
  return issues.map(({ keys, message }) => ({
    keys: [...start, ...keys],
    path: showKeyPath([...root, ...keys]),
    message,
  }));
}

/** The preset's own settings in `written`, secrets resolved; without `sources` those are left out. */
export function resolveSettings(
  preset: PresetPart,
  written: PresetSettings,
  {
    where,
    sources,
    findings,
  }: { where: string; sources: (SecretSources & ReservedSecrets) | undefined; findings: Findings },
): PresetSettings {
  const resolved: [string, unknown][] = [];
  for (const key of Object.keys(preset.settings?.properties ?? {})) {
    if (!Object.hasOwn(written, key) || written[key] === undefined) continue;
    if (!preset.secretSettings.includes(key)) resolved.push([key, written[key]]);
    else if (sources !== undefined) {
      for (const { path, value } of readSecrets(written[key] as SecretInput, `${where}.${key}`, sources, findings)) {
        const problem = secretProblem(value, sources);
        if (problem === undefined) resolved.push([key, value]);
        else findings.refuse(path, problem);
      }
    }
  }
  return Object.fromEntries(resolved);
}

/** The blocks that settings were read from; a missing one should be in the first. */
type SettingsRoots = readonly [KeyPath, ...KeyPath[]];

/** Checks a preset's settings, complete and resolved, by the schema of its author; false when it refuses them. */
export function checkSettings(
  preset: PresetPart,
  settings: PresetSettings,
  roots: SettingsRoots,
  findings: Findings,
): boolean {
  const issues = compileChecks(preset).complete(settings);
  for (const { keys, message } of issues) {
    const paths = roots.map((root) => showKeyPath([...root, ...keys]));
    // A secret that could not be resolved has been refused under its key.
    if (findings.issues.some(({ path }) => paths.includes(path))) continue;
    findings.refuse(paths[0]!, message === "is required" ? wordMissing(preset, keys, roots[0]) : message);
  }
  return issues.length === 0;
}

/** The issue of a secret setting that is not there since it refers to something missing. */
export function missingSetting(
  { secretSettings }: PresetPart,
  settings: PresetSettings,
  roots: SettingsRoots,
  { issues }: Findings,
): ConfigIssue | undefined {
  const absent = secretSettings.filter((key) => !Object.hasOwn(settings, key));
  const paths = new Set(roots.flatMap((root) => absent.map((key) => showKeyPath([...root, key]))));
  return issues.find(({ path, isReference }) => isReference === true && paths.has(path));
}

function wordMissing({ name, settings }: PresetPart, keys: KeyPath, root: KeyPath): string {
  const { description } = (settings?.properties[String(keys[0])] ?? {}) as { description?: string };
  const elsewhere = root[1] === "mappings" ? `, here or in hooks.${name}` : "";
  return `is required by the preset ${name}${elsewhere}${description === undefined ? "" : `: ${description}`}`;
}

/** A preset as `hooks.<preset>` or `hooks.senders.<name>` sets it. */
export interface ConfiguredPreset {
  readonly part: PresetPart;
  /** The sender's name: that of the preset, or its own. */
  readonly name: string;
  /** The key of its block. */
  readonly root: KeyPath;
  /** Its block as written. */
  readonly block: PresetBlockInput;
  /** The preset's own settings from the block, secrets resolved, not yet checked. */
  readonly settings: PresetSettings;
  /** The secrets of the block, resolved. */
  readonly secrets: ResolvedSecrets;
  /** False when the schema refuses the block, so that no further rule can check it. */
  readonly isValid: boolean;
}

const NO_SECRETS: ResolvedSecrets = { key: undefined, values: [] };

interface ConfiguredPresetsOptions {
  readonly parts: ReadonlyMap<string, PresetPart>;
  readonly written: ValidSubset;
  readonly gmail: GmailConfig;
  readonly sources: AuthSources;
  readonly findings: Findings;
}

/** The presets of a configuration: each is looked up, and its secrets resolved, when something first uses it. */
export class ConfiguredPresets {
  readonly #options: ConfiguredPresetsOptions;
  readonly #used = new Map<string, ConfiguredPreset>();

  constructor(options: ConfiguredPresetsOptions) {
    this.#options = options;
  }

  /** Every name there is. */
  names(): readonly string[] {
    return [...this.#options.parts.keys()];
  }

  get(name: string): ConfiguredPreset | undefined {
    const part = this.#options.parts.get(name);
    if (part === undefined) return undefined;
    let preset = this.#used.get(name);
    if (!preset) this.#used.set(name, (preset = this.#configure(part)));
    return preset;
  }

  /** Warns of blocks that nothing has used so far. */
  warnOfUnused(): void {
    const { parts, written, findings } = this.#options;
    for (const name of parts.keys()) {
      if (this.#used.has(name) || written.block(name) === undefined) continue;
      findings.warn(
        `hooks.${name}`,
        `has no effect: add "${name}" to hooks.presets, or name it as the preset of a mapping`,
      );
    }
  }

  /** The named senders whose preset exists. */
  named(): readonly ConfiguredPreset[] {
    const { parts, written } = this.#options;
    return [...written.senders].flatMap(([name, { preset, ...block }]) => {
      const part = parts.get(preset.trim());
      return part === undefined
        ? []
        : [this.#read({ part, name, root: ["hooks", "senders", name], isValid: true }, block)];
    });
  }

  #configure(part: PresetPart): ConfiguredPreset {
    const { written, gmail } = this.#options;
    const { name } = part;
    const place = { part, name, root: ["hooks", name], isValid: written.isValid(name) };
    if (name === GMAIL) return { ...place, block: {}, settings: { ...gmail }, secrets: NO_SECRETS };
    return this.#read(place, written.block(name) ?? {});
  }

  #read(
    place: Pick<ConfiguredPreset, "part" | "name" | "root" | "isValid">,
    block: PresetBlockInput,
  ): ConfiguredPreset {
    const { sources, findings } = this.#options;
    const where = showKeyPath(place.root);
    if (place.part.name === GMAIL) {
      const { path, ...settings } = block;
      const own = path === undefined ? {} : { path };
      return { ...place, block: own, settings: { ...readGmail(settings as GmailInput) }, secrets: NO_SECRETS };
    }
    return {
      ...place,
      block,
      settings: resolveSettings(place.part, block, { where, sources, findings }),
      secrets: readAuthSecrets(block, where, sources, findings),
    };
  }
}
