/** Loads the plugins that the configuration names. */
import { closestKey } from "../../../config/show-value.ts";
import { ConfigError, type ConfigIssue } from "../../../config/errors.ts";
import { showKeyPath } from "../../../config/show-value.ts";
import { compileSchemaCheck } from "../../../config/schema-check.ts";
import { reasonLine } from "../../../core/reason-of.ts";
import type { GatewayHost, GatewayPlugin, Logger } from "../../../core/host.ts";
import type { PluginEntryConfig, PluginsConfig } from "../config/file.ts";
import { PluginError } from "../errors.ts";
import { type PluginManifest, readPluginManifest } from "./manifest.ts";
import type { PluginModules } from "./modules.ts";
import { findPluginClass, loadPluginPresets, type PluginPreset, tapPresets } from "./exports.ts";
import { TappedHooks } from "./apply.ts";

/** The built-in ingress; no other plugin can have the id. */
const BUILT_IN_ID = "reveille";

/** A plugin, and the key of the configuration that names it. */
interface LocatedPlugin {
  readonly manifest: PluginManifest;
  readonly where: string;
}

/** Reads the manifests in the order of the configuration; what is wrong is added to `issues`. */
function locatePlugins(config: PluginsConfig, issues: ConfigIssue[]): readonly LocatedPlugin[] {
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
  // When a plugin could not be read, no one knows its id.
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
    .map((id) => ({ path: showKeyPath(["plugins", "entries", id]), message: unknownIdProblem(id, known) }));
}

function unknownIdProblem(id: string, known: readonly string[]): string {
  if (id === BUILT_IN_ID) return 'is the built-in plugin; its settings are "hooks"';
  const closest = closestKey(id, known);
  const hint = closest === undefined ? "add its folder there" : `did you mean "${closest}"?`;
  return `is the id of no plugin in plugins.load.paths; ${hint}`;
}

/** A plugin that is ready for {@link applyPlugin}. */
export interface LoadedPlugin {
  readonly id: string;
  readonly manifest: PluginManifest;
  /** The instance; one that does nothing when the plugin brings presets only. */
  readonly plugin: GatewayPlugin;
  readonly presets: readonly PluginPreset[];
}

export interface LoadPluginsOptions {
  readonly logger: Logger;
  /** The exports of this package, for plugins that import it: they get the gateway's own copy. */
  readonly publicApi: object;
  /** Aborted when no one waits any more: nothing that is loaded later is constructed. */
  readonly signal?: AbortSignal;
}

/**
 * Loads and constructs the enabled plugins in the order of `plugins.load.paths`, every file of theirs as
 * it is now.
 *
 * Rejects with a {@link ConfigError} that names everything wrong with any of them; then none is
 * used. Options are held to the plugin's own schema, and no message shows them, since they may
 * hold secrets.
 */
export async function loadPlugins(
  config: PluginsConfig,
  { logger, publicApi, signal }: LoadPluginsOptions,
): Promise<readonly LoadedPlugin[]> {
  const issues: ConfigIssue[] = [];
  const loaded: LoadedPlugin[] = [];
  for (const { manifest, where } of locatePlugins(config, issues)) {
    signal?.throwIfAborted();
    const { id, folder } = manifest;
    const entry = config.entries.get(id);
    if (entry?.enabled === false) {
      logger.info({ plugin: id }, "a disabled plugin was not loaded");
      continue;
    }
    try {
      const options = checkedOptions(manifest, entry);
      // The loader of modules is needed by gateways with plugins only.
      const { PluginModules } = await import("./modules.ts");
      const modules = new PluginModules({
        folder,
        publicApi,
        onReplaced: (replaced) => {
          logger.warn(
            { plugin: id, ...replaced },
            "a package of the plugin was replaced; the loaded version stays until a restart",
          );
        },
      });
      const presets = await loadPluginPresets(manifest, { modules, others: loaded });
      loaded.push({ id, manifest, presets, plugin: await construct(manifest, { modules, options, signal }) });
    } catch (error) {
      signal?.throwIfAborted();
      issues.push(...issuesOf(error, where));
    }
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return loaded;
}

/**
 * Applies a plugin to the host: its presets, then the class. What it throws refuses the configuration
 * under the plugin's id; lifecycle hooks that it taps and does not list, or the other way round, are
 * worth a warning.
 */
export function applyPlugin({ id, manifest, plugin, presets }: LoadedPlugin, host: GatewayHost): void {
  if (presets.length > 0) tapPresets(host, id, presets);
  const tapped = manifest.lifecycle && new TappedHooks(host.lifecycle);
  try {
    refusePromise(plugin.apply(host));
  } catch (error) {
    const message = `${manifest.entry ?? manifest.file}: the plugin could not be applied: ${reasonLine(error)}`;
    throw new ConfigError([{ path: showKeyPath(["plugins", "entries", id]), message }]);
  }
  for (const warning of tapped?.differencesFrom(manifest.lifecycle ?? []) ?? []) {
    host.logger.warn({ plugin: id }, `${manifest.file}: ${warning}`);
  }
}

function refusePromise(returned: unknown): void {
  if (typeof returned !== "object" || returned === null || !("then" in returned)) return;
  // What it rejects with is no one's from here on, and must not end the process.
  Promise.resolve(returned).catch(() => {});
  throw new TypeError("apply returned a promise, which is not awaited; tap at once, and do the rest in onConfigLoad");
}

function checkedOptions(
  { id, file, entry, configSchema }: PluginManifest,
  settings: PluginEntryConfig | undefined,
): unknown {
  // A copy: what the constructor does to it must not make the next configuration look changed, or unchanged.
  const options = structuredClone(settings?.config);
  const root = ["plugins", "entries", id, "config"];
  if (entry === undefined && options !== undefined) {
    throw new PluginError(`${file}: the plugin brings presets only and takes no options; remove ${root.join(".")}`);
  }
  if (configSchema === undefined) return options;
  const given = options ?? {};
  let issues: readonly ConfigIssue[];
  try {
    issues = compileSchemaCheck(configSchema, { root, showValues: false })(given);
  } catch (error) {
    throw new PluginError(`${file}: configSchema is not a JSON Schema: ${reasonLine(error)}`);
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return given;
}

async function construct(
  { id, entry }: PluginManifest,
  {
    modules,
    options,
    signal,
  }: Pick<LoadPluginsOptions, "signal"> & {
    readonly modules: PluginModules;
    readonly options: unknown;
  },
): Promise<GatewayPlugin> {
  if (entry === undefined) return { apply() {} };
  const exported = await modules.load(entry);
  signal?.throwIfAborted();
  const Plugin = findPluginClass(exported, entry);
  try {
    return new Plugin(options);
  } catch (error) {
    throw new PluginError(`${entry}: the plugin "${id}" refused its options: ${reasonLine(error)}`, {
      cause: error,
    });
  }
}

function issuesOf(error: unknown, path: string): readonly ConfigIssue[] {
  if (error instanceof ConfigError) return error.issues;
  if (error instanceof PluginError) return error.messages.map((message) => ({ path, message }));
  throw error;
}

/** Loads plugins, and does not wait for ever. */

interface LoadPluginsWithTimeoutOptions extends LoadPluginsOptions {
  /** For all of them together. */
  readonly loadTimeoutMs?: number;
}

/** Long enough for modules that are compiled; what awaits something at its top level permanently has to end. */
const DEFAULT_LOAD_TIMEOUT_MS = 30_000;

/** Loads and constructs the plugins. Rejects with a `ConfigError`, also when they take too long. */
export async function loadPluginsWithTimeout(
  config: PluginsConfig,
  { loadTimeoutMs = DEFAULT_LOAD_TIMEOUT_MS, ...options }: LoadPluginsWithTimeoutOptions,
): Promise<readonly LoadedPlugin[]> {
  const late = Promise.withResolvers<never>();
  const givenUp = new AbortController();
  const timer = setTimeout(() => {
    const message = `have not finished loading after ${loadTimeoutMs} ms; look at the top-level awaits of the plugins`;
    const error = new ConfigError([{ path: "plugins.load.paths", message }]);
    givenUp.abort(error);
    late.reject(error);
  }, loadTimeoutMs);
  try {
    return await Promise.race([loadPlugins(config, { ...options, signal: givenUp.signal }), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
