import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import type { GatewayHost, Logger } from "../core/host.ts";
import { agentCatalog } from "../hosts/embedded/agents.ts";
import { listChannels } from "../hosts/embedded/channels.ts";
import { readGatewayConfig } from "../hosts/embedded/config/read.ts";
import type { GatewayConfig } from "../hosts/embedded/config/file.ts";
import { prepareConfig, snapshotOf } from "../hosts/embedded/config/snapshot.ts";
import { loadPlugins } from "../hosts/embedded/plugins/load.ts";
import { applyPlugin } from "../hosts/embedded/plugins/load.ts";
import { limitShutdownTaps } from "../hosts/embedded/plugins/shutdown.ts";
import { createLifecycle } from "../hosts/shared/lifecycle.ts";
import * as publicApi from "../index.ts";
import {
  type CliGateway,
  type GatewayAccess,
  type GatewayCommandOptions,
  idleHost,
  type ModelEndpoint,
  type OpenedConfiguration,
  type OpenOptions,
} from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { type FileLocations, findLocations, type LocationEnvironment, type LocationOptions } from "./file-locations.ts";
import { init, type InitOptions } from "./init-command.ts";
import { addOpenClawCommands } from "./openclaw/commands.ts";
import { serve, type ServeOptions } from "./serve-command.ts";
import { readWhole, withConfig } from "./options.ts";

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
  async open(
    options: LocationOptions,
    { logger, loadTimeoutMs, strict = false }: OpenOptions,
  ): Promise<OpenedConfiguration> {
    const { configFile, stateDir } = this.locate(options);
    const { config, written, warnings } = readGatewayConfig({ file: configFile, env: this.#environment.env });
    const host = hostOf(config, { stateDir, logger });
    const close = (): Promise<void> => host.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + SHUTDOWN_MS });
    const plugins = await loadPlugins(config.plugins, {
      logger,
      publicApi,
      loadTimeoutMs,
      setAside: strict ? undefined : { before: undefined },
    });
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
        await prepareConfig(host.lifecycle, config, "start");
      },
      close,
    };
  }

  access(options: GatewayCommandOptions): GatewayAccess {
    const { gateway } = readGatewayConfig({ file: this.locate(options).configFile, env: this.#environment.env }).config;
    const url = (options.url ?? gatewayUrl(gateway)).replace(/\/+$/u, "");
    return { url, apiUrl: `${url}/api/v1`, token: gateway.authTokens[0]! };
  }

  modelEndpoints(options: LocationOptions): readonly ModelEndpoint[] {
    const { models } = readGatewayConfig({ file: this.locate(options).configFile, env: this.#environment.env }).config;
    return [...models.providers].map(([name, { baseUrl, apiKey, headers }]) => ({
      name,
      url: baseUrl,
      headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    }));
  }
}

function hostOf(config: GatewayConfig, { stateDir, logger }: { stateDir: string; logger: Logger }): GatewayHost {
  const lifecycle = createLifecycle();
  limitShutdownTaps(lifecycle.onShutdown, { clock: { now: () => Date.now() }, logger });
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

/** Adds `serve`, which is the default, `init`, and what leads to another gateway. */
export function addEmbeddedCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withConfig(program.command("serve", { isDefault: true }), io, "where the database is")
    .description("run the gateway (the default)")
    .option("--host <address>", "loopback, lan or an address, instead of gateway.bind")
    .option("--port <number>", "instead of gateway.port; 0: a free one", readWhole(0, 65_535))
    .option("--strict", "refuse a configuration with a mapping that refers to something missing, and set none aside")
    .option("--accept-loss", "start also when the database lacks calls that were accepted")
    .action(async (options: ServeOptions) => {
      finish(await serve(options, io));
    });
  withConfig(program.command("init"), io)
    .description("write a configuration with fresh tokens")
    .option("--force", "replace an existing one")
    .action((options: InitOptions) => {
      init(options, io);
    });
  addOpenClawCommands(program, io, finish);
}

/** Where a gateway with that configuration is reached from this machine: no slash at its end. */
function gatewayUrl({ host, port }: Pick<GatewayConfig["gateway"], "host" | "port">): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
