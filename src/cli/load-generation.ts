/** Makes a configuration ready without starting a gateway. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { NO_KEYS } from "../auth/keys/no-keys.ts";
import { prepareGeneration } from "../generation.ts";
import type { Generation, GenerationOptions } from "../generation.ts";
import type { IngressHooks } from "../hooks.ts";
import { HostError } from "../host.ts";
import type { ConfigSnapshot, GatewayHost, Logger } from "../host.ts";
import * as publicApi from "../index.ts";
import { agentCatalog } from "../embedded/agents/embedded-agents.ts";
import { listChannels } from "../embedded/channels/embedded-channels.ts";
import { readGatewayConfig } from "../embedded/config/read-gateway-config.ts";
import type { ReadConfig, ReadConfigOptions } from "../embedded/config/read-gateway-config.ts";
import { findConfigError } from "../embedded/explain-failure.ts";
import type { GatewayConfig } from "../embedded/gateway-config.ts";
import { createLifecycle } from "../embedded/gateway-lifecycle.ts";
import { offerConfig, snapshotOf } from "../embedded/offer-config.ts";
import { passOverStuckTaps } from "../embedded/patient-shutdown.ts";
import { loadPluginsInTime } from "../embedded/plugins-in-time.ts";
import type { PluginsInTimeOptions } from "../embedded/plugins-in-time.ts";
import { applyPlugin } from "../embedded/plugins/load-plugins.ts";

export interface LoadOptions extends ReadConfigOptions, Pick<PluginsInTimeOptions, "loadTimeoutMs"> {
  /** Absolute; not touched. */
  readonly stateDir: string;
  readonly logger: Logger;
  /** Aborted when the command is interrupted. */
  readonly signal?: AbortSignal;
}

/** How long plugins may take to shut down; then they have as long again before they are left alone. */
const SHUTDOWN_MS = 1_000;

/** A configuration whose plugins have been applied to a host that does not run. */
export interface OpenedConfiguration {
  readonly file: ReadConfig;
  readonly host: GatewayHost;
  /** With what the plugins have tapped. */
  readonly hooks: IngressHooks;
  readonly snapshot: Omit<ConfigSnapshot, "onCommit">;
  /** Fires `onShutdown`, so that plugins let go of what they have opened. Never rejects, and ends. */
  readonly close: () => Promise<void>;
}

/** A configuration that is valid, and what was made of it. */
export interface LoadedGeneration {
  readonly file: ReadConfig;
  readonly snapshot: Omit<ConfigSnapshot, "onCommit">;
  /** Its transforms have been loaded and are closed again: nothing of it runs any more. */
  readonly generation: Generation;
}

/** Reads the file and applies the plugins that it names. Rejects with a `ConfigError`. */
export async function openConfiguration(options: LoadOptions): Promise<OpenedConfiguration> {
  const file = readGatewayConfig(options);
  const host = idleHost(file.config, options);
  const { logger, loadTimeoutMs } = options;
  const close = (): Promise<void> => host.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + SHUTDOWN_MS });
  const plugins = await loadPluginsInTime(file.config.plugins, { logger, publicApi, loadTimeoutMs });
  try {
    for (const plugin of plugins) applyPlugin(plugin, host);
  } catch (error) {
    await close();
    throw error;
  }
  const hooks = publicApi.WebhookIngress.hooks(host);
  return { file, host, hooks, snapshot: snapshotOf(file.config, "start"), close };
}

/**
 * Goes the way of a start up to the point where anything would be opened: the file, the plugins,
 * and the `hooks` block with its presets and transforms. Rejects with a `ConfigError`.
 */
export async function loadGeneration(options: LoadOptions): Promise<LoadedGeneration> {
  const { file, host, hooks, snapshot, close } = await openConfiguration(options);
  try {
    // As in a gateway: what another plugin refuses starts no process.
    await offerConfig(host.lifecycle, file.config, "start");
    return { file, snapshot, generation: await loadOnce(snapshot, { host, hooks, signal: options.signal }) };
  } catch (error) {
    throw findConfigError(error) ?? error;
  } finally {
    await close();
  }
}

/** The generation, whose transforms have been loaded and are closed again. */
async function loadOnce(
  snapshot: OpenedConfiguration["snapshot"],
  options: Pick<GenerationOptions, "host" | "hooks" | "signal">,
): Promise<Generation> {
  options.signal?.throwIfAborted();
  const workDir = mkdtempSync(join(tmpdir(), "reveille-check-"));
  try {
    const generation = await prepareGeneration(snapshot, { ...options, keys: NO_KEYS, workDir, previous: undefined });
    await generation.transforms.close();
    return generation;
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}

/** A host whose plugins can be given a configuration and nothing else. */
function idleHost(config: GatewayConfig, { logger, stateDir }: LoadOptions): GatewayHost {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new HostError("The gateway is not running; its configuration is being checked.", { retryable: false }),
    );
  const clock = { now: () => Date.now() };
  const lifecycle = createLifecycle();
  passOverStuckTaps(lifecycle.onShutdown, { clock, logger });
  return {
    name: "embedded",
    lifecycle,
    sessions: {
      mainSessionKey: (agentId) => `agent:${agentId}:${config.session.mainKey}`,
      enqueueSystemEvent: refuse,
      requestHeartbeat: () => {},
    },
    agents: { ...agentCatalog(config), run: refuse },
    // Of conversations nothing is known here.
    channels: { list: () => listChannels(config), lastRoute: () => Promise.resolve(undefined), send: refuse },
    logger,
    paths: { configDir: dirname(config.file), stateDir },
    clock,
  };
}
