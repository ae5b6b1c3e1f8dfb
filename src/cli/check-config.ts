/** Judges a configuration without starting a gateway. */
import { dirname } from "node:path";
import { configLines } from "../config/config-error.ts";
import { auditHooks } from "../config/security-audit.ts";
import type { AuditFinding } from "../config/security-audit.ts";
import { prepareGeneration } from "../generation.ts";
import { HostError } from "../host.ts";
import type { GatewayHost, Logger } from "../host.ts";
import * as publicApi from "../index.ts";
import { agentCatalog } from "../embedded/agents/embedded-agents.ts";
import { listChannels } from "../embedded/channels/embedded-channels.ts";
import { readGatewayConfig } from "../embedded/config/read-gateway-config.ts";
import type { ReadConfigOptions } from "../embedded/config/read-gateway-config.ts";
import { findConfigError } from "../embedded/explain-failure.ts";
import type { GatewayConfig } from "../embedded/gateway-config.ts";
import { createLifecycle } from "../embedded/gateway-lifecycle.ts";
import { offerConfig, snapshotOf } from "../embedded/offer-config.ts";
import { applyPlugin, loadPlugins } from "../embedded/plugins/load-plugins.ts";

export interface CheckOptions extends ReadConfigOptions {
  /** Absolute; not touched. */
  readonly stateDir: string;
  readonly logger: Logger;
}

/** What was found in a configuration that is valid. */
export interface ConfigReport {
  /** Lines for the gateway's owner. */
  readonly warnings: readonly string[];
  readonly audit: readonly AuditFinding[];
}

/**
 * Goes the way of a start up to the point where anything would be opened: the file, the plugins,
 * and the `hooks` block with its transforms. Rejects with a `ConfigError`.
 */
export async function checkConfig(options: CheckOptions): Promise<ConfigReport> {
  const { config, warnings, written } = readGatewayConfig(options);
  const host = idleHost(config, options);
  const plugins = await loadPlugins(config.plugins, { logger: options.logger, publicApi });
  for (const plugin of plugins) applyPlugin(plugin, host);
  const snapshot = { ...snapshotOf(config, "start"), onCommit: () => {} };
  try {
    const hooks = publicApi.WebhookIngress.hooks(host);
    const generation = await prepareGeneration(snapshot, { host, hooks, previous: undefined });
    await offerConfig(host.lifecycle, config, "start");
    const hooksWritten = "hooks" in written ? written.hooks : undefined;
    return {
      warnings: [...configLines(warnings), ...generation.warnings],
      audit: auditHooks(generation.config, snapshot.gateway, hooksWritten),
    };
  } catch (error) {
    throw findConfigError(error) ?? error;
  }
}

/** A host whose plugins can be given a configuration and nothing else. */
function idleHost(config: GatewayConfig, { logger, stateDir }: CheckOptions): GatewayHost {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new HostError("The gateway is not running; its configuration is being checked.", { retryable: false }),
    );
  return {
    name: "embedded",
    lifecycle: createLifecycle(),
    sessions: {
      mainSessionKey: (agentId) => `agent:${agentId}:${config.session.mainKey}`,
      enqueueSystemEvent: refuse,
      requestHeartbeat: () => {},
    },
    agents: { ...agentCatalog(config), run: refuse },
    channels: { list: () => listChannels(config), lastRoute: refuse, send: refuse },
    logger,
    paths: { configDir: dirname(config.file), stateDir },
    clock: { now: () => Date.now() },
  };
}
