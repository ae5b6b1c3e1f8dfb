/** Loads the plugins that the configuration names. */
import { closestKey } from "../../../config/show-value.ts";
import { ConfigError, type ConfigIssue } from "../../../config/errors.ts";
import { showKeyPath } from "../../../config/show-value.ts";
import { compileSchemaCheck } from "../../../config/schema-check.ts";
import { reasonLine } from "../../../core/reason-of.ts";
import type { GatewayHost, GatewayPlugin, Logger } from "../../../core/host.ts";
import type { PluginEntryConfig, PluginsConfig } from "../config/file.ts";
import { PluginError, PluginRefusal } from "../errors.ts";
import { type PluginManifest, readPluginManifest } from "./manifest.ts";
import type { PluginModules } from "./modules.ts";
import { findPluginClass, loadPluginPresets, tapPresets } from "./exports.ts";
import { TappedHooks } from "./apply.ts";
import { type LoadedPlugin, setPluginAside, tapFailure } from "./set-aside.ts";

/** The built-in ingress; no other plugin can have the id. */
const BUILT_IN_ID = "reveille";

/** A plugin, and the key of the configuration that names it. */
interface LocatedPlugin {
  readonly manifest: PluginManifest;
  readonly where: string;
}

/** A plugin whose manifest cannot be read. */
interface UnreadablePlugin {
  readonly manifest: undefined;
  readonly where: string;
  readonly path: string;
  readonly issues: readonly ConfigIssue[];
}

/** Reads the manifests in the order of the configuration; an unknown id is added to `issues`. */
function locatePlugins(config: PluginsConfig, issues: ConfigIssue[]): readonly (LocatedPlugin | UnreadablePlugin)[] {
  const located: LocatedPlugin[] = [];
  const all: (LocatedPlugin | UnreadablePlugin)[] = [];
  for (const [at, path] of config.load.entries()) {
    const where = `plugins.load.paths[${at}]`;
    try {
      const manifest = readPluginManifest(path);
      refuseTakenId(manifest, located);
      located.push({ manifest, where });
      all.push({ manifest, where });
    } catch (error) {
      if (!(error instanceof PluginError)) throw error;
      const unread = error.messages.map((message) => ({ path: where, message }));
      all.push({ manifest: undefined, where, path, issues: unread });
    }
  }
  // The id of a plugin that could not be read is not known.
  if (all.length === located.length) issues.push(...unknownEntries(config, located));
  return all;
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

export interface LoadPluginsOptions {
  readonly logger: Logger;
  /** The exports of this package, for plugins that import it: they get the gateway's own copy. */
  readonly publicApi: object;
  /** Present: a plugin that fails keeps its version in `before`, or is set aside. Absent: it refuses the configuration. */
  readonly setAside?:
    | { /** `undefined` at a start. */ readonly before: readonly LoadedPlugin[] | undefined }
    | undefined;
  /** For each plugin. */
  readonly loadTimeoutMs?: number | undefined;
}

/** Long enough for modules that are compiled; what awaits something at its top level permanently has to end. */
const DEFAULT_LOAD_TIMEOUT_MS = 30_000;

/**
 * Loads and constructs the enabled plugins in the order of `plugins.load.paths`, every file of theirs as
 * it is now.
 *
 * Rejects with a {@link ConfigError} that names everything wrong with the options and ids of any of them,
 * and without `setAside` also with their files; then none is used. No message shows options, since they may
 * hold secrets.
 */
export async function loadPlugins(
  config: PluginsConfig,
  options: LoadPluginsOptions,
): Promise<readonly LoadedPlugin[]> {
  const { logger, setAside } = options;
  const issues: ConfigIssue[] = [];
  const loaded: LoadedPlugin[] = [];
  const fail = (
    found: readonly ConfigIssue[],
    failed: { path: string; manifest: PluginManifest | undefined },
  ): void => {
    const plugin = setAside && setPluginAside(found, { ...failed, before: setAside.before });
    if (plugin === undefined) issues.push(...found);
    else loaded.push(plugin);
  };
  for (const located of locatePlugins(config, issues)) {
    const { manifest, where } = located;
    if (manifest === undefined) {
      fail(located.issues, { path: located.path, manifest });
      continue;
    }
    const entry = config.entries.get(manifest.id);
    if (entry?.enabled === false) {
      logger.info({ plugin: manifest.id }, "a disabled plugin was not loaded");
      continue;
    }
    const path = config.load[Number(/\d+/.exec(where))]!;
    try {
      const given = checkedOptions(manifest, entry);
      loaded.push({ ...(await loadInTime(manifest, given, { ...options, others: loaded })), path });
    } catch (error) {
      const found = issuesOf(error, where);
      // A wrong option or a name that is taken is the owner's to correct, as every other key.
      if (error instanceof ConfigError || error instanceof PluginRefusal) issues.push(...found);
      else fail(found, { path, manifest });
    }
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return loaded;
}

interface LoadContext extends LoadPluginsOptions {
  readonly others: readonly LoadedPlugin[];
}

/** Rejects with a {@link PluginError}, also when the plugin takes too long; then it is never constructed. */
async function loadInTime(
  manifest: PluginManifest,
  options: unknown,
  { loadTimeoutMs = DEFAULT_LOAD_TIMEOUT_MS, ...context }: LoadContext,
): Promise<Omit<LoadedPlugin, "path">> {
  const late = Promise.withResolvers<never>();
  const givenUp = new AbortController();
  const timer = setTimeout(() => {
    const error = new PluginError(
      `${manifest.file}: the plugin has not finished loading after ${loadTimeoutMs} ms; look at its top-level awaits`,
    );
    givenUp.abort(error);
    late.reject(error);
  }, loadTimeoutMs);
  try {
    return await Promise.race([loadOne(manifest, options, { ...context, signal: givenUp.signal }), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function loadOne(
  manifest: PluginManifest,
  options: unknown,
  { logger, publicApi, others, signal }: LoadContext & { readonly signal: AbortSignal },
): Promise<Omit<LoadedPlugin, "path">> {
  const { id, folder } = manifest;
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
  const presets = await loadPluginPresets(manifest, { modules, others });
  const renew = await constructorOf(manifest, modules, options);
  signal.throwIfAborted();
  return { id, manifest, presets, plugin: renew(), renew };
}

/**
 * Applies a plugin to the host: its presets, then the class. What it throws refuses the configuration
 * under the plugin's id; lifecycle hooks that it taps and does not list, or the other way round, are
 * worth a warning.
 */
export function applyPlugin({ id, manifest, plugin, presets, failure }: LoadedPlugin, host: GatewayHost): void {
  if (presets.length > 0) tapPresets(host, id, presets);
  if (failure !== undefined) tapFailure(host, id, { failure, presets });
  if (manifest === undefined) return;
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
  // A later rejection has no receiver, and must not end the process.
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
    // Compiled, so that a pattern that cannot be used is refused whatever the options are.
    issues = compileSchemaCheck(configSchema, { root, showValues: false, isFrequent: true })(given);
  } catch (error) {
    throw new PluginError(`${file}: configSchema is not a JSON Schema: ${reasonLine(error)}`);
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return given;
}

/** Loads the class; what it returns constructs an instance, and throws a {@link PluginError} when it refuses. */
async function constructorOf(
  { id, entry }: PluginManifest,
  modules: PluginModules,
  options: unknown,
): Promise<() => GatewayPlugin> {
  if (entry === undefined) return () => ({ apply() {} });
  const Plugin = findPluginClass(await modules.load(entry), entry);
  return () => {
    try {
      return new Plugin(structuredClone(options));
    } catch (error) {
      throw new PluginRefusal(`${entry}: the plugin "${id}" refused its options: ${reasonLine(error)}`, {
        cause: error,
      });
    }
  };
}

function issuesOf(error: unknown, path: string): readonly ConfigIssue[] {
  if (error instanceof ConfigError) return error.issues;
  if (error instanceof PluginError) return error.messages.map((message) => ({ path, message }));
  throw error;
}
