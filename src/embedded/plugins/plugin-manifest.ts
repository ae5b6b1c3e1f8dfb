/** A plugin's `plugin.json`. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import Type from "typebox";
import type { Static } from "typebox";
import { compileSchemaCheck } from "../../config/schema-check.ts";

/** The version of the host contract that plugins of this gateway are written against. */
const pluginApi = "1";

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
    entry: Type.String({ title: "a path within the plugin's folder", minLength: 1 }),
    pluginApi: Type.String({ title: `a version such as "${pluginApi}"` }),
    lifecycle: Type.Optional(Type.Array(Type.Enum(["onConfigLoad", "onHttpRoute", "onShutdown"]))),
    configSchema: Type.Optional(Type.Object({})),
  },
  { additionalProperties: false },
);

type ManifestFile = Static<typeof ManifestSchema>;

/** What the loader needs of a manifest. */
export interface PluginManifest {
  readonly id: string;
  /** Absolute path of the module, symbolic links resolved; inside the plugin's folder. */
  readonly entry: string;
  /** JSON Schema of the plugin's options. */
  readonly configSchema: object | undefined;
}

/** Thrown for a plugin that cannot be loaded; the message says what to change. */
export class PluginError extends Error {
  override readonly name = "PluginError";
}

const manifestName = "plugin.json";
const check = compileSchemaCheck(ManifestSchema);

/** Reads the manifest of a plugin: `path` is its folder or the `plugin.json` in it. */
export function readPluginManifest(path: string): PluginManifest {
  const file = locate(path);
  const manifest = parse(file);
  if (manifest.pluginApi !== pluginApi) {
    throw new PluginError(
      `${file}: the plugin is written for plugin API ${manifest.pluginApi}, and this gateway has ${pluginApi}`,
    );
  }
  const { id, entry, configSchema } = manifest;
  return { id, entry: resolveEntry(dirname(file), entry, file), configSchema };
}

function locate(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new PluginError(`${path} does not exist`);
  return stats.isDirectory() ? join(path, manifestName) : path;
}

function parse(file: string): ManifestFile {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new PluginError(`${file} cannot be read; a plugin is a folder with a ${manifestName}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new PluginError(`${file} is not JSON`);
  }
  const issues = check(value);
  if (issues.length > 0) {
    throw new PluginError(
      issues.map(({ path, message }) => `${file}: ${path === "" ? "" : `${path} `}${message}`).join("; "),
    );
  }
  return value as ManifestFile;
}

/** Symbolic links are resolved on both sides, so that none leads out of the folder. */
function resolveEntry(folder: string, entry: string, file: string): string {
  const root = realpathSync(folder);
  let resolved: string;
  try {
    resolved = realpathSync(join(root, entry));
  } catch {
    throw new PluginError(`${file}: entry ${JSON.stringify(entry)} does not exist`);
  }
  if (!resolved.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw new PluginError(`${file}: entry ${JSON.stringify(entry)} leads out of the plugin's folder`);
  }
  if (!statSync(resolved).isFile()) {
    throw new PluginError(`${file}: entry ${JSON.stringify(entry)} is not a file`);
  }
  return resolved;
}
