import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { agentCatalog } from "../../hosts/embedded/agents/agents.ts";
import { listChannels } from "../../hosts/embedded/channels/channels.ts";
import { readGatewayConfig } from "../../hosts/embedded/config/read-gateway-config.ts";
import type { GatewayConfig } from "../../hosts/embedded/gateway-config.ts";
import { createLifecycle } from "../../hosts/shared/create-lifecycle.ts";
import { offerConfig, snapshotOf } from "../../hosts/embedded/load-config.ts";
import { passOverStuckTaps } from "../../hosts/embedded/shutdown.ts";
import { loadPluginsInTime } from "../../hosts/embedded/plugins-in-time.ts";
import { applyPlugin } from "../../hosts/embedded/plugins/load-plugins.ts";
import type { GatewayHost, Logger } from "../../core/host.ts";
import * as publicApi from "../../index.ts";
import type {
  CliGateway,
  GatewayAccess,
  GatewayCommandOptions,
  OpenedConfiguration,
  OpenOptions,
} from "../cli-gateway.ts";
import { findLocations } from "../file-locations.ts";
import type { FileLocations, LocationOptions, LocationEnvironment } from "../file-locations.ts";
import { idleHost } from "../idle-host.ts";
import { gatewayUrl } from "./gateway-url.ts";

/** How long plugins may take to shut down; then they have as long again before they are left alone. */
const SHUTDOWN_MS = 1_000;

/** The embedded gateway, which `reveille serve` runs. */
export class EmbeddedCliGateway implements CliGateway {
  readonly program = "reveille";
  readonly description = "The webhook ingress of an AI-agent gateway, on its own embedded gateway.";
  readonly takesLocations = true;
  readonly block = "hooks";
  readonly defaultPath = "/hooks";
  readonly setupCommand = "reveille init";
  readonly #environment: LocationEnvironment;

  constructor(around: LocationEnvironment) {
    this.#environment = around;
  }

  locate(options: LocationOptions): FileLocations {
    return findLocations(options, this.#environment);
  }

  isConfigured(options: LocationOptions): boolean {
    return existsSync(this.locate(options).configFile);
  }

  /** Goes the way of a start: the file, and the plugins that it names. */
  async open(options: LocationOptions, { logger, loadTimeoutMs }: OpenOptions): Promise<OpenedConfiguration> {
    const { configFile, stateDir } = this.locate(options);
    const { config, written, warnings } = readGatewayConfig({ file: configFile, env: this.#environment.env });
    const host = hostOf(config, { stateDir, logger });
    const close = (): Promise<void> => host.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + SHUTDOWN_MS });
    const plugins = await loadPluginsInTime(config.plugins, { logger, publicApi, loadTimeoutMs });
    try {
      for (const plugin of plugins) applyPlugin(plugin, host);
    } catch (error) {
      await close();
      throw error;
    }
    return {
      hooksWritten: "hooks" in written ? written.hooks : undefined,
      warnings,
      host,
      hooks: publicApi.WebhookIngress.hooks(host),
      snapshot: snapshotOf(config, "start"),
      async prepare() {
        await offerConfig(host.lifecycle, config, "start");
      },
      close,
    };
  }

  access(options: GatewayCommandOptions): GatewayAccess {
    const { gateway } = readGatewayConfig({ file: this.locate(options).configFile, env: this.#environment.env }).config;
    const url = (options.url ?? gatewayUrl(gateway)).replace(/\/+$/u, "");
    return { url, apiUrl: `${url}/api/v1`, token: gateway.authTokens[0]! };
  }
}

function hostOf(config: GatewayConfig, { stateDir, logger }: { stateDir: string; logger: Logger }): GatewayHost {
  const lifecycle = createLifecycle();
  passOverStuckTaps(lifecycle.onShutdown, { clock: { now: () => Date.now() }, logger });
  return idleHost({
    name: "embedded",
    lifecycle,
    logger,
    paths: { configDir: dirname(config.file), stateDir },
    mainKey: config.session.mainKey,
    agents: agentCatalog(config),
    channels: listChannels(config),
  });
}
