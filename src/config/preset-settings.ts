import type { Findings } from "./findings.ts";
import { GMAIL, GmailSchema } from "./gmail-schema.ts";
import type { PresetSettings } from "./hooks-config.ts";
import { showKeyPath } from "./key-path.ts";
import type { KeyPath } from "./key-path.ts";
import { declaredSettings, presetBlockSchema, writtenSettings } from "./preset-block-schema.ts";
import type { PresetPart } from "./preset-part.ts";
import type { SecretInput } from "./schema.ts";
import { compileSchemaCheck } from "./schema-check.ts";
import type { SchemaCheck, SchemaIssue } from "./schema-check.ts";
import { readSecrets } from "./secrets.ts";
import type { SecretSources } from "./secrets.ts";
import { secretProblem } from "./secret-rules.ts";
import type { TakenSecrets } from "./secret-rules.ts";

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

/** What is wrong with a `hooks.<preset>` as it is written. */
export function checkPresetBlock(preset: PresetPart, written: unknown): SchemaIssue[] {
  return placed(compileChecks(preset).block(written), ["hooks", preset.name], [preset.name]);
}

/** What is wrong with a mapping's `settings` as they are written; `root` is where they stand. */
export function checkWrittenSettings(preset: PresetPart, written: unknown, root: KeyPath): SchemaIssue[] {
  return placed(compileChecks(preset).settings(written), root, []);
}

function placed(issues: readonly SchemaIssue[], root: KeyPath, start: KeyPath): SchemaIssue[] {
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
  }: { where: string; sources: (SecretSources & TakenSecrets) | undefined; findings: Findings },
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

/**
 * Holds a preset's settings, complete and resolved, to the schema of its author; false when it refuses
 * them. `root` is where they are missed.
 */
export function checkSettings(
  preset: PresetPart,
  settings: PresetSettings,
  root: KeyPath,
  findings: Findings,
): boolean {
  const issues = compileChecks(preset).complete(settings);
  for (const { keys, message } of issues) {
    const path = showKeyPath([...root, ...keys]);
    // What could not be resolved has been refused under the same key.
    if (findings.issues.some((issue) => issue.path === path)) continue;
    findings.refuse(path, message === "is required" ? wordMissing(preset, keys, root) : message);
  }
  return issues.length === 0;
}

function wordMissing({ name, settings }: PresetPart, keys: KeyPath, root: KeyPath): string {
  const { description } = (settings?.properties[String(keys[0])] ?? {}) as { description?: string };
  const elsewhere = root.length > 2 ? `, here or in hooks.${name}` : "";
  return `is required by the preset ${name}${elsewhere}${description === undefined ? "" : `: ${description}`}`;
}
