/** Offers a configuration to the plugins, which apply it together or not at all. */
import type { ConfigSnapshot, GatewayFacts, HostLifecycle } from "../../../core/host.ts";
import { agentCatalog } from "../agents.ts";
import { listChannels } from "../channels.ts";
import type { GatewayConfig } from "./file.ts";
import { reasonLine } from "../../../core/reason-of.ts";

/** A configuration that every plugin has accepted. */
export interface PreparedConfig {
  /** Applies it: every plugin's part, in order, also when one throws; gives what was thrown. */
  commit(): readonly Error[];
}

/**
 * Fires `onConfigLoad`. Rejects with the first refusal, and then nothing of the configuration is
 * in use anywhere; what a plugin registers once the hook has ended throws.
 */
export async function prepareConfig(
  lifecycle: HostLifecycle,
  config: GatewayConfig,
  reason: ConfigSnapshot["reason"],
): Promise<PreparedConfig> {
  const commits: (() => void)[] = [];
  let isOpen = true;
  try {
    await lifecycle.onConfigLoad.promise({
      ...snapshotOf(config, reason),
      onCommit(commit) {
        if (!isOpen) throw new Error("onCommit() was called after onConfigLoad had ended.");
        commits.push(commit);
      },
    });
  } finally {
    isOpen = false;
  }
  return {
    commit: () => commits.flatMap(commitFailures),
  };
}

/** By contract none throws. One that does must not keep the parts of others from becoming active. */
function commitFailures(commit: () => void): readonly Error[] {
  try {
    commit();
    return [];
  } catch (error) {
    return [error instanceof Error ? error : new Error(reasonLine(error), { cause: error })];
  }
}

/** The configuration as plugins see it, without the commit. */
export function snapshotOf(config: GatewayConfig, reason: ConfigSnapshot["reason"]): Omit<ConfigSnapshot, "onCommit"> {
  return {
    config: config.hooks,
    reason,
    gateway: gatewayFacts(config),
    agents: agentCatalog(config),
    channels: listChannels(config),
  };
}

function gatewayFacts({ gateway, models, channels }: GatewayConfig): GatewayFacts {
  const providers = [...models.providers.values()];
  const secrets = [
    ...gateway.authTokens,
    ...providers.flatMap(({ apiKey, headers }) => [apiKey, ...Object.values(headers)]),
    channels.webhook?.secret,
  ];
  return {
    secrets: secrets.filter((secret) => secret !== undefined),
    loopbackOnly: gateway.loopbackOnly,
    trustedProxies: gateway.trustedProxies,
  };
}
