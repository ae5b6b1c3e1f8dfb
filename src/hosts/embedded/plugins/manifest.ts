/** A plugin's `plugin.json`. */
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import Type from "typebox";
import type { Static } from "typebox";
import { compileSchemaCheck } from "../../../config/schema-check.ts";
import type { HostLifecycle } from "../../../core/host.ts";
import { containedPath } from "../../../transform/loader/containment.ts";
import { PLUGIN_API } from "./api.ts";
import { PluginError } from "./error.ts";
import { readJsonFile } from "./read-json-file.ts";
import { refusePluginApi } from "./refuse-plugin-api.ts";
import { schemaProblems } from "./schema-problems.ts";

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

/** What the loader needs of a manifest. */
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
  const api = refusePluginApi(manifest.pluginApi, PLUGIN_API);
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
