/** Loads the plugins that the configuration names. */
import { ConfigError } from "../../config/config-error.ts";
import type { ConfigIssue } from "../../config/config-error.ts";
import type { GatewayHost, GatewayPlugin, Logger } from "../../host.ts";
import { showKeyPath } from "../../config/key-path.ts";
import { compileSchemaCheck } from "../../config/schema-check.ts";
import type { PluginsConfig } from "../gateway-config.ts";
import { importPluginClass, reasonOf } from "./import-plugin.ts";
import { PluginError, readPluginManifest } from "./plugin-manifest.ts";
import type { PluginManifest } from "./plugin-manifest.ts";

/** The built-in ingress; no other plugin can have the id. */
const builtInId = "reveille";

export interface LoadedPlugin {
  readonly id: string;
  readonly plugin: GatewayPlugin;
}

export interface LoadPluginsOptions {
  readonly logger: Logger;
  /** The exports of this package, for plugins that import it: they get the gateway's own copy. */
  readonly publicApi: object;
}

/**
 * Loads and constructs the enabled plugins in the order of `plugins.load.paths`.
 *
 * Rejects with a {@link ConfigError} that names everything wrong with any of them; then none is
 * used. Options are held to the plugin's own schema, and no message shows them, since they may
 * hold secrets.
 */
export async function loadPlugins(
  config: PluginsConfig,
  { logger, publicApi }: LoadPluginsOptions,
): Promise<readonly LoadedPlugin[]> {
  const issues: ConfigIssue[] = [];
  const manifests = readManifests(config, issues);
  const loaded: LoadedPlugin[] = [];
  for (const { manifest, where } of manifests) {
    const entry = config.entries.get(manifest.id);
    if (entry?.enabled === false) {
      logger.info({ plugin: manifest.id }, "The plugin is disabled and was not loaded.");
      continue;
    }
    try {
      const options = checkedOptions(manifest, entry?.config);
      const Plugin = await importPluginClass(manifest.entry, publicApi);
      loaded.push({ id: manifest.id, plugin: construct(manifest, () => new Plugin(options)) });
    } catch (error) {
      issues.push(...issuesOf(error, where));
    }
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return loaded;
}

/** Applies a plugin to the host; what it throws is reported under the plugin's id. */
export function applyPlugin({ id, plugin }: LoadedPlugin, host: GatewayHost): void {
  try {
    plugin.apply(host);
  } catch (error) {
    const message = `the plugin could not be applied: ${reasonOf(error)}`;
    throw new ConfigError([{ path: showKeyPath(["plugins", "entries", id]), message }]);
  }
}

interface LocatedManifest {
  readonly manifest: PluginManifest;
  readonly where: string;
}

function readManifests(config: PluginsConfig, issues: ConfigIssue[]): LocatedManifest[] {
  const located: LocatedManifest[] = [];
  for (const [at, path] of config.load.entries()) {
    const where = `plugins.load.paths[${at}]`;
    try {
      const manifest = readPluginManifest(path);
      const twin = located.find((other) => other.manifest.id === manifest.id);
      if (manifest.id === builtInId) {
        issues.push({
          path: where,
          message: `"${manifest.id}" is the id of the built-in plugin; the plugin needs another`,
        });
      } else if (twin !== undefined) {
        issues.push({ path: where, message: `"${manifest.id}" is also the id of the plugin in ${twin.where}` });
      } else {
        located.push({ manifest, where });
      }
    } catch (error) {
      issues.push(...issuesOf(error, where));
    }
  }
  for (const id of config.entries.keys()) {
    if (issues.length > 0 || located.some(({ manifest }) => manifest.id === id)) continue;
    issues.push({
      path: showKeyPath(["plugins", "entries", id]),
      message: "is the id of no plugin in plugins.load.paths",
    });
  }
  return located;
}

function checkedOptions({ id, configSchema }: PluginManifest, options: unknown): unknown {
  if (configSchema === undefined) return options;
  const given = options ?? {};
  const root = ["plugins", "entries", id, "config"];
  let issues: readonly ConfigIssue[];
  try {
    issues = compileSchemaCheck(configSchema, { root, showValues: false })(given);
  } catch (error) {
    throw new PluginError(`the configSchema of the plugin "${id}" is not a JSON schema: ${reasonOf(error)}`);
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return given;
}

function construct({ id }: PluginManifest, create: () => GatewayPlugin): GatewayPlugin {
  try {
    return create();
  } catch (error) {
    throw new PluginError(`the plugin "${id}" refused its options: ${reasonOf(error)}`, { cause: error });
  }
}

function issuesOf(error: unknown, where: string): readonly ConfigIssue[] {
  if (error instanceof ConfigError) return error.issues;
  if (error instanceof PluginError) return [{ path: where, message: error.message }];
  throw error;
}
