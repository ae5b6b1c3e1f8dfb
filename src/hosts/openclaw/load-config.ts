/** Prepares the host's configuration with all plugins, and commits it for all of them or none. */
import type { ConfigSnapshot } from "../../core/host.ts";
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
    agents.allowedModels("") ?? null,
    channelList(config),
    builtInPrefix(config) ?? null,
  ]);
}

/** One configuration on its way into force. */
export interface ConfigToLoad {
  readonly config: OpenClawConfig;
  readonly reason: ConfigSnapshot["reason"];
  /** Takes the path of the hooks from the host while nothing of the configuration is in use; returns what gives it back. */
  readonly reserve: (path: string) => () => void;
}

/**
 * Fires `onConfigLoad`, commits and builds the routes. Rejects with the first refusal, and then nothing
 * of the configuration is in use anywhere. A commit that throws at a reload is logged, and the others
 * come into use all the same.
 */
export async function loadConfig(
  host: OpenClawHost,
  { config, reason, reserve }: ConfigToLoad,
  options: LoadConfigOptions,
): Promise<RouteTable> {
  const snapshot = snapshotOf(config, reason, options);
  const commits = await preparedCommits(host, snapshot);
  // The host may refuse the path: after the commits it would be too late to stay with what was.
  const path = hooksPath(snapshot.config);
  const giveBack = path === undefined ? () => {} : reserve(path);
  try {
    const failures = commits.flatMap(commitFailures);
    // Nothing is served yet at a start, so that it can still be refused as a whole.
    if (reason === "start" && failures.length > 0) throw failures[0];
    for (const error of failures) {
      host.logger.error({ err: error }, "a part of the new configuration failed after it was accepted");
    }
    const table = new RouteTable();
    host.lifecycle.onHttpRoute.call(table);
    return table;
  } catch (error) {
    giveBack();
    throw error;
  }
}

async function preparedCommits(
  host: OpenClawHost,
  snapshot: Omit<ConfigSnapshot, "onCommit">,
): Promise<readonly (() => void)[]> {
  const commits: (() => void)[] = [];
  let isOpen = true;
  try {
    await host.lifecycle.onConfigLoad.promise({
      ...snapshot,
      onCommit(commit) {
        if (!isOpen) throw new Error("onCommit() was called after onConfigLoad had ended.");
        commits.push(commit);
      },
    });
  } finally {
    isOpen = false;
  }
  return commits;
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

/** By contract none throws. One that does must not keep the parts of others from becoming active. */
function commitFailures(commit: () => void): readonly unknown[] {
  try {
    commit();
    return [];
  } catch (error) {
    return [error];
  }
}
