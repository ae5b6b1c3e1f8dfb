/** Refuses a configuration file with all its problems in one round: those of the gateway's keys and of the `hooks` block. */
import { dirname } from "node:path";
import { type ConfigIssue, ConfigError, Findings } from "../../../config/errors.ts";
import type { SchemaIssue } from "../../../config/schema-check.ts";
import type { AgentCatalog } from "../../../core/host.ts";
import { WebhookIngress } from "../../../index.ts";
import type { GatewayConfig } from "./file.ts";
import { readSections, type SectionsOptions } from "./gateway.ts";
import type { GatewayFile } from "./schema.ts";
import { snapshotOf } from "./snapshot.ts";

/** Sections of OpenClaw's file that this gateway's file does not have. */
const OPENCLAW_SECTIONS: ReadonlySet<string> = new Set(
  "auth bindings browser commands cron logging messages meta skills tools ui wizard".split(" "),
);
const OPENCLAW_FILE =
  "this is OpenClaw's file: paste only its hooks block into yours, or make yours from it: reveille adopt <file>";

/** True for a whole `openclaw.json`: two of its sections, or the one that its wizard writes. */
function isOpenClawFile(written: object): boolean {
  const sections = Object.keys(written).filter((key) => OPENCLAW_SECTIONS.has(key));
  return sections.length > 1 || sections.includes("wizard");
}

/** The problems that refuse a file: references to variables that are not set, and issues of the schema. */
export interface SchemaRefusal {
  readonly references: readonly ConfigIssue[];
  readonly schema: readonly SchemaIssue[];
}

/** The error for a file that its schema refuses, with the problems of everything that can still be read. */
export function refusalOf(
  value: object,
  { references, schema }: SchemaRefusal,
  options: Omit<SectionsOptions, "findings">,
): ConfigError {
  if (isOpenClawFile(value)) return new ConfigError([{ path: options.file, message: OPENCLAW_FILE }]);
  const findings = new Findings();
  const { file, dropped } = withoutRefused(value, schema);
  const config = readSections(file, { ...options, findings });
  const first = [...references, ...schema];
  // The agents' models cannot be checked without the providers.
  const further = findings.issues.filter(({ path }) => !(dropped.has("models") && path.startsWith("agents")));
  const hooks = hooksRefusal(config, dropped, options.env);
  return new ConfigError(distinct([...first, ...further, ...hooks.issues]), [...findings.warnings, ...hooks.warnings]);
}

/** The file without what its schema refuses, and the sections that lost a known key. */
function withoutRefused(
  value: object,
  issues: readonly SchemaIssue[],
): { readonly file: GatewayFile; readonly dropped: ReadonlySet<string> } {
  const file = structuredClone(value);
  const dropped = new Set<string>();
  for (const { keys, message } of issues) {
    const isUnknown = message.startsWith(UNKNOWN_KEY);
    if (!isUnknown) dropped.add(String(keys[0]));
    remove(file, isUnknown ? keys : keys.slice(0, 2));
  }
  return { file, dropped };
}

function remove(from: object, keys: readonly (string | number)[]): void {
  const parent = keys.slice(0, -1).reduce<unknown>((value, key) => fieldOf(value, key), from);
  if (typeof parent === "object" && parent !== null) Reflect.deleteProperty(parent, keys.at(-1)!);
}

function fieldOf(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string | number, unknown>>)[key]
    : undefined;
}

const UNKNOWN_KEY = "unknown key";
const NO_ISSUES: Pick<ConfigError, "issues" | "warnings"> = { issues: [], warnings: [] };

/** The problems of the `hooks` block, checked by the sections that are known. */
function hooksRefusal(
  config: GatewayConfig,
  dropped: ReadonlySet<string>,
  env: SectionsOptions["env"],
): Pick<ConfigError, "issues" | "warnings"> {
  // Which one it is makes no difference to what is valid.
  const publicUrl = config.gateway.expose && "https://hooks.invalid";
  const { config: hooks, gateway, agents, channels } = snapshotOf(config, { reason: "start", publicUrl });
  const refused = WebhookIngress.check(hooks, {
    configDir: dirname(config.file),
    gateway,
    agents: dropped.has("agents") || dropped.has("models") ? ANY_AGENT : agents,
    channels: dropped.has("channels") ? undefined : channels,
    env,
  });
  if (refused === undefined) return NO_ISSUES;
  const { issues, warnings } = refused;
  return { issues: hasForeignPresets(config) ? issues.filter((issue) => !needsPresets(issue)) : issues, warnings };
}

const ANY_AGENT: AgentCatalog = {
  list: () => [],
  resolve: (id) => ({ id: id ?? "main", isDefault: id === undefined }),
  allowedModels: () => undefined,
};

/** True when plugins or modules may bring presets: neither is loaded for a refused file. */
function hasForeignPresets({ hooks, plugins }: GatewayConfig): boolean {
  const presets = fieldOf(hooks, "presets");
  const named: readonly unknown[] = Array.isArray(presets) ? presets : [];
  return plugins.load.length > 0 || named.some((name) => typeof name === "string" && name.startsWith("./"));
}

/** True for an issue that a preset from elsewhere would remove. */
function needsPresets({ path, message }: ConfigIssue): boolean {
  return (
    /^hooks\.presets\[|\.preset$/u.test(path) || (/^hooks\.[^.[]+$/u.test(path) && message.startsWith(UNKNOWN_KEY))
  );
}

/** The issues without those that repeat the key of an earlier one. */
function distinct(issues: readonly ConfigIssue[]): readonly ConfigIssue[] {
  const paths = new Set<string>();
  return issues.filter(({ path }) => !paths.has(path) && paths.add(path));
}
