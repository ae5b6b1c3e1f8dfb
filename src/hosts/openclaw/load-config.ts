/** Prepares the host's configuration with all plugins, and commits it for all of them or none. */
import type { ConfigSnapshot } from "../../core/host.ts";
import { commitConfig, prepareConfig } from "../shared/load-config.ts";
import type { OpenClawHost } from "./host.ts";
import type { OpenClawConfig } from "./sdk.ts";
import { RouteTable } from "./routes.ts";
import { pathConflict } from "./plugin-block.ts";
import { hooksPath } from "./plugin-block.ts";
import { agentCatalog, builtInPrefix, channelList, gatewayFacts, pluginBlock } from "./read-config.ts";

export interface LoadConfigOptions {
  readonly pluginId: string;
  /** The configuration that the plugins see for the owner's. */
  readonly block: (written: unknown) => unknown;
}

/** Everything of a configuration that the plugins are shown, as one text: a change of the rest is none. */
export function configFingerprint(config: OpenClawConfig, { pluginId, block }: LoadConfigOptions): string {
  const agents = agentCatalog(config, pluginId);
  return JSON.stringify([
    block(pluginBlock(config, pluginId)) ?? null,
    gatewayFacts(config),
    agents.list(),
    agents.list().map(({ id }) => agents.allowedModels(id) ?? null),
    channelList(config),
    builtInPrefix(config) ?? null,
  ]);
}

/** One configuration that is not active yet. */
export interface ConfigToLoad {
  readonly config: OpenClawConfig;
  readonly reason: ConfigSnapshot["reason"];
  /** Takes the path of the hooks from the host while nothing of the configuration is in use; returns what gives it back. */
  readonly reserve: (path: string) => () => void;
}

/**
 * Prepares the configuration, commits it and builds the routes. Rejects with the first refusal, and then nothing
 * of the configuration is in use anywhere.
 */
export async function loadConfig(
  host: OpenClawHost,
  { config, reason, reserve }: ConfigToLoad,
  options: LoadConfigOptions,
): Promise<RouteTable> {
  const snapshot = snapshotOf(config, reason, options);
  const prepared = await prepareConfig(host.lifecycle, snapshot);
  // The host may refuse the path: after the commits it would be too late to stay with what was.
  const path = hooksPath(snapshot.config);
  const giveBack = path === undefined ? () => {} : reserve(path);
  try {
    commitConfig(prepared, host);
    const table = new RouteTable();
    host.lifecycle.onHttpRoute.call(table);
    return table;
  } catch (error) {
    giveBack();
    throw error;
  }
}

/**
 * The configuration as plugins see it, without the commit. Throws when the hooks would be where the host's
 * own are.
 */
export function snapshotOf(
  config: OpenClawConfig,
  reason: ConfigSnapshot["reason"],
  { pluginId, block }: LoadConfigOptions,
): Omit<ConfigSnapshot, "onCommit"> {
  const written = block(pluginBlock(config, pluginId));
  const clash = pathConflict(written, config, pluginId);
  if (clash !== undefined) throw new Error(clash);
  return {
    config: written,
    reason,
    gateway: gatewayFacts(config),
    agents: agentCatalog(config, pluginId),
    channels: channelList(config),
  };
}
