import { closestKey } from "../../../config/closest-key.ts";
import type { ConfigIssue } from "../../../config/config-error.ts";
import { showKeyPath } from "../../../config/key-path.ts";
import type { PluginsConfig } from "../gateway-config.ts";
import { PluginError } from "./error.ts";
import { readPluginManifest } from "./manifest.ts";
import type { PluginManifest } from "./manifest.ts";

/** The built-in ingress; no other plugin can have the id. */
const BUILT_IN_ID = "reveille";

/** A plugin, and the key of the configuration that names it. */
export interface LocatedPlugin {
  readonly manifest: PluginManifest;
  readonly where: string;
}

/** Reads the manifests in the order of the configuration; what is wrong is added to `issues`. */
export function locatePlugins(config: PluginsConfig, issues: ConfigIssue[]): readonly LocatedPlugin[] {
  const located: LocatedPlugin[] = [];
  for (const [at, path] of config.load.entries()) {
    const where = `plugins.load.paths[${at}]`;
    try {
      const manifest = readPluginManifest(path);
      refuseTakenId(manifest, located);
      located.push({ manifest, where });
    } catch (error) {
      if (!(error instanceof PluginError)) throw error;
      issues.push(...error.messages.map((message) => ({ path: where, message })));
    }
  }
  // When a plugin could not be read, nobody knows its id.
  if (issues.length === 0) issues.push(...unknownEntries(config, located));
  return located;
}

function refuseTakenId({ id, file }: PluginManifest, located: readonly LocatedPlugin[]): void {
  if (id === BUILT_IN_ID) {
    throw new PluginError(`${file}: "${id}" is the id of the built-in plugin; the plugin needs another`);
  }
  const twin = located.find(({ manifest }) => manifest.id === id);
  if (twin !== undefined) {
    throw new PluginError(`${file}: "${id}" is also the id of the plugin in ${twin.where} (${twin.manifest.file})`);
  }
}

function unknownEntries({ entries }: PluginsConfig, located: readonly LocatedPlugin[]): ConfigIssue[] {
  const known = located.map(({ manifest }) => manifest.id);
  return [...entries.keys()]
    .filter((id) => !known.includes(id))
    .map((id) => ({ path: showKeyPath(["plugins", "entries", id]), message: wordUnknownId(id, known) }));
}

function wordUnknownId(id: string, known: readonly string[]): string {
  if (id === BUILT_IN_ID) return 'is the built-in plugin; its settings are "hooks"';
  const closest = closestKey(id, known);
  const hint = closest === undefined ? "add its folder there" : `did you mean "${closest}"?`;
  return `is the id of no plugin in plugins.load.paths; ${hint}`;
}
