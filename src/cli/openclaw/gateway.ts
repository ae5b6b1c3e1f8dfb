import { reasonOf } from "../../core/reason-of.ts";
import { join } from "node:path";
import { ConfigError } from "../../config/errors.ts";
import { configFolder, stateFolder } from "../../hosts/openclaw/host.ts";
import { type LoadConfigOptions, snapshotOf } from "../../hosts/openclaw/load-config.ts";
import { operatorPath } from "../../hosts/openclaw/operator-route.ts";
import { blockKey, DEFAULT_PATH } from "../../hosts/openclaw/plugin-block.ts";
import {
  agentCatalog,
  channelList,
  gatewaySecret,
  localUrl,
  mainKey,
  pluginBlock,
} from "../../hosts/openclaw/read-config.ts";
import type { OpenClawConfig } from "../../hosts/openclaw/sdk.ts";
import { createLifecycle } from "../../hosts/shared/lifecycle.ts";
import * as publicApi from "../../index.ts";
import { CliError } from "../errors.ts";
import {
  type CliGateway,
  type GatewayAccess,
  type GatewayCommandOptions,
  idleHost,
  type OpenedConfiguration,
  type OpenOptions,
} from "../gateway.ts";
import { processIo } from "../io.ts";
import type { FileLocations } from "../file-locations.ts";
import { runCli } from "../run.ts";
import { addAdopt } from "./commands.ts";

export interface OpenClawCliOptions extends LoadConfigOptions {
  /** As the host has read it, with the values of its variables. */
  readonly config: OpenClawConfig;
  /** The host's state folder; absolute. */
  readonly stateDir: string;
  readonly env: NodeJS.ProcessEnv;
}

/** An OpenClaw gateway, whose own program runs the commands. */
export class OpenClawCliGateway implements CliGateway {
  readonly program = "openclaw reveille";
  readonly description = "The webhook ingress of this gateway: find, inspect and replay deliveries.";
  readonly takesLocations = false;
  readonly defaultPath = DEFAULT_PATH;
  readonly setupCommand = "openclaw reveille adopt";
  readonly block: string;
  readonly #options: OpenClawCliOptions;

  constructor(options: OpenClawCliOptions) {
    this.#options = options;
    this.block = blockKey(options.pluginId);
  }

  /** The host decides where its files are: nothing of the command line does. */
  locate(): FileLocations {
    const { stateDir, pluginId, env } = this.#options;
    const configFile = env["OPENCLAW_CONFIG_PATH"]?.trim() || join(stateDir, "openclaw.json");
    return { configFile, stateDir: stateFolder(stateDir, pluginId) };
  }

  isConfigured(): boolean {
    return pluginBlock(this.#options.config, this.#options.pluginId) !== undefined;
  }

  async open(_: unknown, { logger }: OpenOptions): Promise<OpenedConfiguration> {
    const { config, pluginId, env, stateDir } = this.#options;
    const lifecycle = createLifecycle();
    const agents = agentCatalog(config, pluginId);
    const host = idleHost({
      name: "openclaw",
      lifecycle,
      logger,
      paths: { configDir: configFolder(stateDir, env), stateDir: this.locate().stateDir },
      mainKey: mainKey(config),
      agents,
      channels: channelList(config),
    });
    new publicApi.WebhookIngress().apply(host);
    return {
      hooksWritten: pluginBlock(config, pluginId),
      warnings: [],
      host,
      hooks: publicApi.WebhookIngress.hooks(host),
      snapshot: this.#snapshot(),
      // No other plugin of the host is asked.
      prepare: async () => {},
      close: () => lifecycle.onShutdown.promise({ deadlineMs: Date.now() }),
    };
  }

  access({ url }: GatewayCommandOptions): GatewayAccess {
    const { config, env, pluginId } = this.#options;
    const base = (url ?? localUrl(config, env)).replace(/\/+$/u, "");
    const apiUrl = `${base}${operatorPath(pluginId)}`;
    const { secret: token, isNeeded } = gatewaySecret(config, env);
    if (token === undefined && isNeeded) {
      throw new CliError(
        "The gateway's own token is not known here: it is neither text in gateway.auth nor in OPENCLAW_GATEWAY_TOKEN. Set that variable for this command.",
      );
    }
    return { url: base, apiUrl, ...(token === undefined ? {} : { token }) };
  }

  #snapshot(): OpenedConfiguration["snapshot"] {
    try {
      return snapshotOf(this.#options.config, "start", this.#options);
    } catch (error) {
      const words = reasonOf(error);
      const path = `${this.block}.path`;
      // In a log the sentence stands alone and begins with the key itself.
      const message = words.startsWith(`${path}: `) ? words.slice(path.length + 2) : words;
      throw new ConfigError([{ path, message }]);
    }
  }
}

/** Runs `openclaw reveille <args>` in the host's own program; resolves with the exit code. */
export function runOpenClawCli(args: readonly string[], options: Omit<OpenClawCliOptions, "env">): Promise<number> {
  // Without a command there is nothing to run: a gateway of its own is another program.
  const given = args.length === 0 ? ["--help"] : args;
  return runCli(given, processIo(new OpenClawCliGateway({ ...options, env: process.env })), addAdopt);
}
