/** Loads plugins, and does not wait for ever. */
import { ConfigError } from "../../config/config-error.ts";
import type { PluginsConfig } from "./gateway-config.ts";
import { loadPlugins } from "./plugins/load-plugins.ts";
import type { LoadedPlugin, LoadPluginsOptions } from "./plugins/load-plugins.ts";

export interface PluginsInTimeOptions extends LoadPluginsOptions {
  /** For all of them together. */
  readonly loadTimeoutMs?: number;
}

/** Long enough for modules that are compiled; what awaits something at its top level for good has to end. */
const DEFAULT_LOAD_TIMEOUT_MS = 30_000;

/** Loads and constructs the plugins. Rejects with a `ConfigError`, also when they take too long. */
export async function loadPluginsInTime(
  config: PluginsConfig,
  { loadTimeoutMs = DEFAULT_LOAD_TIMEOUT_MS, ...options }: PluginsInTimeOptions,
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
