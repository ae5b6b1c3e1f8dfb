/** A plugin's `plugin.json`. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import JSON5 from "json5";
import semver from "semver";
import Type, { type Static } from "typebox";
import { compileSchemaCheck } from "../../../config/schema-check.ts";
import type { HostLifecycle } from "../../../core/host.ts";
import { containedPath } from "../../../transform/loader/containment.ts";
import { PluginError } from "../errors.ts";
import { schemaProblems } from "./schema-problems.ts";

/**
 * The version of what plugins of this gateway are written against: the manifest, the class and the
 * options it is given, the host contract and the ingress's hooks. Semantic versioning; what 1.x keeps is
 * documented in docs/extend/writing-a-plugin.md.
 *
 * - 1.0: a manifest with a class.
 * - 1.1: `presets` in the manifest, and ranges as `pluginApi`.
 */
export const PLUGIN_API = "1.1.0";

const LIFECYCLE_HOOKS: (keyof HostLifecycle)[] = ["onConfigLoad", "onHttpRoute", "onShutdown"];

const path = (): Type.TString => Type.String({ title: "a path within the plugin's folder", minLength: 1 });

const ManifestSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    id: Type.String({
      title: "a name of lower-case letters, digits, - and _",
      maxLength: 64,
      pattern: "^[a-z0-9][a-z0-9_-]*$",
    }),
    name: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    entry: Type.Optional(path()),
    presets: Type.Optional(Type.Array(path(), { minItems: 1, maxItems: 256 })),
    pluginApi: Type.String({ title: 'a version range such as "^1.1"' }),
    lifecycle: Type.Optional(Type.Array(Type.Enum(LIFECYCLE_HOOKS))),
    configSchema: Type.Optional(Type.Object({}, { title: "a JSON Schema object" })),
  },
  { additionalProperties: false },
);

type ManifestFile = Static<typeof ManifestSchema>;

/** The parts of a manifest that the loader needs. */
export interface PluginManifest {
  readonly id: string;
  /** Absolute path of the `plugin.json`, for messages. */
  readonly file: string;
  /** Real path of the plugin's folder. */
  readonly folder: string;
  /** Real path of the module with the class, inside the folder; `undefined`: the plugin brings presets only. */
  readonly entry: string | undefined;
  /** Real paths of the modules that export a preset each, inside the folder. */
  readonly presets: readonly string[];
  /** The host's hooks that it says it taps; `undefined`: it does not say. */
  readonly lifecycle: readonly (keyof HostLifecycle)[] | undefined;
  /** JSON Schema of the plugin's options. */
  readonly configSchema: object | undefined;
}

const manifestName = "plugin.json";
const check = compileSchemaCheck(ManifestSchema);

/**
 * Reads the manifest of a plugin: `given` is its folder or the `plugin.json` in it. Throws a
 * {@link PluginError} with everything that is wrong.
 */
export function readPluginManifest(given: string): PluginManifest {
  const file = locate(given);
  const manifest = parse(file);
  const folder = realpathSync(dirname(file));
  const problems: string[] = [];
  const resolveFile = (key: string, written: string): string => {
    const found = resolveModule(folder, written);
    if ("problem" in found) problems.push(`${key} ${JSON.stringify(written)} ${found.problem}`);
    return "path" in found ? found.path : "";
  };
  const { id, lifecycle, configSchema } = manifest;
  const entry = manifest.entry === undefined ? undefined : resolveFile("entry", manifest.entry);
  const presets = (manifest.presets ?? []).map((written, at) => resolveFile(`presets[${at}]`, written));
  const api = pluginApiProblem(manifest.pluginApi, PLUGIN_API);
  if (api !== undefined) problems.push(`pluginApi: ${api}`);
  if (entry === undefined && presets.length === 0) {
    problems.push(`neither "entry" nor "presets" is there; name the module with the class, or those with the presets`);
  }
  if (entry === undefined && configSchema !== undefined) {
    problems.push('configSchema has no use without "entry": there is no class that would be given the options');
  }
  for (const problem of configSchema === undefined ? [] : schemaProblems(configSchema)) {
    problems.push(`configSchema is not a JSON Schema: ${problem}`);
  }
  if (problems.length > 0) throw new PluginError(problems.map((problem) => `${file}: ${problem}`));
  return { id, file, folder, entry, presets, lifecycle, configSchema };
}

function locate(given: string): string {
  const stats = statSync(given, { throwIfNoEntry: false });
  if (stats === undefined) {
    throw new PluginError(`${given} does not exist; correct the path, or install the plugin there`);
  }
  const file = stats.isDirectory() ? join(given, manifestName) : given;
  if (basename(file) !== manifestName) {
    throw new PluginError(`${given} is not a ${manifestName}; name the plugin's folder`);
  }
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new PluginError(`${given} has no ${manifestName}; a plugin is a folder with one`);
  }
  return file;
}

function parse(file: string): ManifestFile {
  const value = readJsonFile(file);
  const issues = check(value);
  if (issues.length > 0) {
    throw new PluginError(issues.map(({ path, message }) => `${file}: ${path === "" ? "" : `${path}: `}${message}`));
  }
  return value as ManifestFile;
}

function resolveModule(folder: string, written: string): { readonly path: string } | { readonly problem: string } {
  const found = containedPath(folder, written);
  if (!found.ok) return { problem: `${found.reason}; it has to be a file in the plugin's folder` };
  const stats = statSync(found.path, { throwIfNoEntry: false });
  if (stats === undefined) return { problem: "does not exist in the plugin's folder" };
  return stats.isFile() ? { path: found.path } : { problem: "is not a file" };
}

/** Reads a JSON file; throws a {@link PluginError} that names the place at which it stops being JSON. */
function readJsonFile(file: string): unknown {
  let text: string;
  try {
    // Editors of some systems begin every file with a byte order mark.
    text = readFileSync(file, "utf8").replace(/^\uFEFF/u, "");
  } catch (error) {
    throw new PluginError(`${file} cannot be read: ${String(error)}`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new PluginError(jsonProblem(file, text, error));
  }
}

/** JSON.parse names the place of some errors only, and the reader of JSON5 that of all. */
function jsonProblem(file: string, text: string, error: unknown): string {
  try {
    JSON5.parse(text);
  } catch (place) {
    const { lineNumber, columnNumber, message } = place as {
      lineNumber: number;
      columnNumber: number;
      message: string;
    };
    const reason = message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return `${file}:${lineNumber}:${columnNumber}: not JSON: ${reason}`;
  }
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(String(error)) ?? [];
  const where = line === undefined ? file : `${file}:${line}:${column}`;
  return `${where}: not JSON: comments, single quotes, unquoted keys and commas at an end are not allowed`;
}

/**
 * The conflict of a plugin's range with a version of the plugin API; `undefined` when the
 * version meets it. Says which of the two is the older, where one is.
 */
export function pluginApiProblem(range: string, has: string): string | undefined {
  // To the library a part that is blank is any version at all.
  if (range.split("||").some((part) => part.trim() === "") || semver.validRange(range) === null) {
    return `${JSON.stringify(range)} is not a version range; write one such as "^${has.replace(/\.\d+$/, "")}"`;
  }
  if (semver.satisfies(has, range)) return undefined;
  return `the plugin asks for plugin API ${range}, and this gateway has ${has}: ${pluginApiAdvice(range, has)}`;
}

function pluginApiAdvice(range: string, has: string): string {
  if (semver.gtr(has, range)) return "the plugin is the older one; install a newer version of it";
  if (semver.ltr(has, range))
    return "the gateway is the older one; update it, or install an older version of the plugin";
  return "install another version of the plugin";
}
