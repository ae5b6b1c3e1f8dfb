/** The pure core of `reveille openclaw adopt`: from OpenClaw's configuration as it is written to the new one. */
import { isDeepStrictEqual } from "node:util";
import type { HooksConfig } from "../../../config/hooks.ts";
import { isTemplated } from "../../../config/session.ts";
import { pluginBlock } from "../read-config.ts";
import { isBareReference, readReferences, type ReadReferences } from "./environment-references.ts";
import { type Fields, fieldsAt, isFields } from "../fields.ts";
import { readHostFacts } from "./host-facts.ts";
import { checkHostHooks, type HostHooks } from "./hooks-schema.ts";
import { grantModels, ModelChoices } from "./model-choice.ts";
import { type MigrationNote, MigrationNotes } from "./notes.ts";
import { PLUGIN_ID, pluginProblem, pluginSection } from "./plugin-section.ts";
import { reportBehavior } from "./report.ts";
import { translateHooks } from "./translate-hooks.ts";
import { modulePath } from "./translate-mapping.ts";
import { includeProblem, validateBlock } from "./validate.ts";

/** In the place of a secret that the file holds as before. */
const UNCHANGED = "<unchanged>";

/** The written values, by their keys; a secret is shown as the reference it is, or not at all. */
export function redactedBlocks({ config }: Pick<MigratedConfig, "config">): Fields {
  const where = `plugins.entries.${PLUGIN_ID}`;
  const entry = fieldsAt(config, "plugins", "entries", PLUGIN_ID);
  const block = fieldsAt(entry, "config");
  const allow: unknown = fieldsAt(config, "plugins")["allow"];
  return {
    "hooks.enabled": false,
    ...(Array.isArray(allow) ? { "plugins.allow": allow } : {}),
    [`${where}.enabled`]: true,
    ...(entry["subagent"] === undefined ? {} : { [`${where}.subagent`]: entry["subagent"] }),
    [`${where}.config`]: {
      ...block,
      ...(block["token"] === undefined ? {} : { token: redactedSecret(block["token"]) }),
      ...(Array.isArray(block["mappings"]) ? { mappings: block["mappings"].map(redactedMapping) } : {}),
    },
  };
}

/** OpenClaw counts the session of a mapping among its secrets; a template is none, as the payload completes it. */
function redactedMapping(mapping: unknown): unknown {
  if (!isFields(mapping) || mapping["sessionKey"] === undefined) return mapping;
  const { sessionKey } = mapping;
  const isTemplate = typeof sessionKey === "string" && isTemplated(sessionKey);
  return { ...mapping, sessionKey: isTemplate ? sessionKey : redactedSecret(sessionKey) };
}

function redactedSecret(written: unknown): unknown {
  return typeof written === "string" && isBareReference(written) ? written : UNCHANGED;
}

export interface MigrationContext {
  /** Absolute; the folder of the configuration file. */
  readonly configDir: string;
  /** The source of `${NAME}`, as far as the file does not define it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True when there is a file. */
  readonly exists: (file: string) => boolean;
  /** The isolation of transforms; `process` when absent. */
  readonly isolation?: "process" | "none";
}

/** A configuration that can be written. */
export interface MigratedConfig {
  readonly outcome: "adopted";
  readonly config: Fields;
  /** The configuration as the host will read it here. */
  readonly resolved: Fields;
  readonly read: HooksConfig;
  readonly notes: readonly MigrationNote[];
}

export type MigrationResult =
  | MigratedConfig
  /** There is nothing to do; `reason` says why, in one or two sentences. */
  | { readonly outcome: "nothing"; readonly reason: string }
  /** Nothing may be written; each reason says what to do. */
  | { readonly outcome: "refused"; readonly reasons: readonly string[] };

/** Makes the new configuration, or says why there is none. Never throws for anything that JSON5 can hold. */
export function migrateConfig(config: Fields, surroundings: MigrationContext): MigrationResult {
  const included = includeProblem(config);
  if (included !== undefined) return refused([included]);
  const hooks = config["hooks"];
  const before = pluginBlock(config, PLUGIN_ID);
  const reason = nothingToDo(hooks, before);
  if (reason !== undefined) return { outcome: "nothing", reason };
  const issues = checkHostHooks(hooks);
  if (issues.length > 0) return refused(issues.map(({ path, message }) => `${path}: ${message}`));
  const barrier = pluginProblem(config);
  if (barrier !== undefined) return refused([barrier]);
  return translate(config, hooks as HostHooks, before, surroundings);
}

function translate(config: Fields, hooks: HostHooks, before: unknown, surroundings: MigrationContext): MigrationResult {
  const { configDir, env, exists, isolation = "process" } = surroundings;
  const references = readReferences(config, env);
  const notes = new MigrationNotes();
  const models = new ModelChoices();
  const facts = readHostFacts(asFields(references.value));
  const transformsDir = hooks.transformsDir === undefined ? undefined : references.resolve(hooks.transformsDir);
  const block = translateHooks(hooks, {
    facts,
    notes,
    models,
    isolation,
    resolve: (text) => references.resolve(text),
    modulePath: (written, where) => modulePath(written, where, { configDir, transformsDir, exists }, notes),
  });
  if (before !== undefined && !isDeepStrictEqual(before, block)) return refused([OTHER_BLOCK]);
  const grant = grantModels(fieldsAt(config, "plugins", "entries", PLUGIN_ID), models, notes);
  if (grant.error !== undefined) return refused([grant.error]);
  const plugins = pluginSection(config, { block, subagent: grant.subagent }, notes);
  notes.add(
    "written",
    "is false now; the rest of the block stays, so that going back takes two keys in one edit.",
    "hooks.enabled",
  );
  const adopted: Fields = { ...config, hooks: { ...hooks, enabled: false }, plugins };
  const resolved = asFields(reread(adopted, references, env));
  const judgment = validateBlock(resolved, { configDir, env });
  if ("issues" in judgment) return refused(issueLines(judgment.issues, references));
  reportMissing(references, notes);
  reportBehavior({ hooks, block, read: judgment.config, config: resolved, facts }, notes);
  for (const warning of judgment.warnings) notes.add("todo", warning);
  return { outcome: "adopted", config: adopted, resolved, read: judgment.config, notes: notes.list };
}

const OTHER_BLOCK =
  `plugins.entries.${PLUGIN_ID}.config is written already and is not overwritten, and OpenClaw's built-in hooks are on beside it. ` +
  `To keep that block, set hooks.enabled to false; to convert hooks again, remove it and adopt again.`;

/** Why there is nothing to adopt, if so. */
function nothingToDo(hooks: unknown, before: unknown): string | undefined {
  const isOn = isFields(hooks) && hooks["enabled"] === true;
  if (hooks !== undefined && (isOn || !isFields(hooks) || !isSwitch(hooks["enabled"]))) return undefined;
  if (before !== undefined) {
    return `Already adopted: plugins.entries.${PLUGIN_ID}.config is written, and OpenClaw's built-in hooks are off.`;
  }
  const own = "To begin without them, see docs/operate/openclaw.md.";
  if (hooks === undefined) return `There is no hooks block, so there is nothing to adopt. ${own}`;
  const others = Object.hasOwn(hooks, "internal") ? " hooks.internal is another system and stays as it is." : "";
  return `OpenClaw's built-in webhooks are off (hooks.enabled is not true), so there is nothing to adopt.${others} ${own}`;
}

function isSwitch(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

/** With the same stand-ins for what has no value here. */
function reread(config: Fields, first: ReadReferences, env: MigrationContext["env"]): unknown {
  const standIns = Object.fromEntries(first.missing.map((name) => [name, first.resolve(`\${${name}}`)]));
  return readReferences(config, { ...env, ...standIns }).value;
}

function issueLines(
  issues: readonly { readonly path: string; readonly message: string }[],
  { missing }: ReadReferences,
): string[] {
  const lines = issues.map(({ path, message }) => `${path}: ${message}`);
  if (missing.length === 0) return lines;
  return [...lines, `Not set here, so that what refers to them could not be judged: ${missing.join(", ")}.`];
}

function reportMissing({ missing }: ReadReferences, notes: MigrationNotes): void {
  if (missing.length === 0) return;
  notes.add(
    "todo",
    `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not set here, so what refers to ${missing.length === 1 ? "it" : "them"} was not judged: the gateway's log says whether Reveille takes it.`,
  );
}

function refused(reasons: readonly string[]): MigrationResult {
  return { outcome: "refused", reasons };
}

function asFields(value: unknown): Fields {
  return isFields(value) ? value : {};
}
