/** The configuration of the embedded gateway, as commands read it. */
import { dirname } from "node:path";
import type { GatewayHost, Logger } from "../core/host.ts";
import { agentCatalog } from "../hosts/embedded/agents.ts";
import { resolveModel, type ResolvedModel } from "../hosts/embedded/agents/model-endpoint.ts";
import { runModelTurn } from "../hosts/embedded/agents/model-turn.ts";
import type { ModelOutcome } from "../hosts/embedded/agents/turn.ts";
import { listChannels } from "../hosts/embedded/channels.ts";
import type { GatewayConfig } from "../hosts/embedded/config/file.ts";
import { readGatewayConfig, type ReadConfigOptions } from "../hosts/embedded/config/read.ts";
import { snapshotOf } from "../hosts/embedded/config/snapshot.ts";
import { prepareConfig } from "../hosts/shared/load-config.ts";
import { limitConfigTaps } from "../hosts/embedded/plugins/config-taps.ts";
import { applyPlugin, loadPlugins } from "../hosts/embedded/plugins/load.ts";
import { limitShutdownTaps } from "../hosts/embedded/plugins/shutdown.ts";
import { rememberedUrl } from "../hosts/embedded/tunnel/remembered-url.ts";
import { createLifecycle } from "../hosts/shared/lifecycle.ts";
import { canConfine } from "../hosts/embedded/programs/probe.ts";
import * as publicApi from "../index.ts";
import { CliError } from "./errors.ts";
import {
  type GatewayAccess,
  type GatewayCommandOptions,
  idleHost,
  type ModelEndpoint,
  type OpenedConfiguration,
  type OpenOptions,
  type TriedConfinement,
  type TriedModel,
} from "./gateway.ts";

/** Time that plugins may take to shut down; then they have as long again before they are abandoned. */
const SHUTDOWN_MS = 1_000;

/** Goes the way of a start: the file, and the plugins that it names. */
export async function openConfiguration(
  read: ReadConfigOptions,
  { stateDir, logger, loadTimeoutMs, strict = false }: OpenOptions & { readonly stateDir: string },
): Promise<OpenedConfiguration> {
  const setAside = strict ? undefined : { before: undefined };
  const { config, written, warnings } = readGatewayConfig({ ...read, setAside });
  const { expose } = config.gateway;
  // A gateway that runs, or ran, has left it there.
  const publicUrl = expose && rememberedUrl(stateDir, expose);
  const snapshot = snapshotOf(config, { reason: "start", publicUrl });
  const host = hostOf(config, { stateDir, logger });
  const close = (): Promise<void> => host.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + SHUTDOWN_MS });
  const plugins = await loadPlugins(config.plugins, {
    logger,
    publicApi,
    loadTimeoutMs,
    setAside,
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
    snapshot,
    async prepare() {
      await prepareConfig(host.lifecycle, snapshot);
    },
    close,
  };
}

export function gatewayAccess(read: ReadConfigOptions, options: GatewayCommandOptions): GatewayAccess {
  const { gateway } = readGatewayConfig({ ...read, setAside: { before: undefined } }).config;
  const url = (options.url ?? gatewayUrl(gateway)).replace(/\/+$/u, "");
  if (!/^https?:\/\/./iu.test(url) || !URL.canParse(url)) {
    throw new CliError(`--url must begin with http:// or https://, as in --url ${gatewayUrl(gateway)}`);
  }
  return { url, apiUrl: `${url}/api/v1`, token: gateway.authTokens[0]! };
}

export function configuredModels(read: ReadConfigOptions): readonly ModelEndpoint[] {
  const { models } = readGatewayConfig({ ...read, setAside: { before: undefined } }).config;
  return [...models.providers].map(([name, { baseUrl, apiKey, headers }]) => ({
    name,
    url: baseUrl,
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
  }));
}

/** Tries for real whether programs can be confined here, when an agent has one that must be. */
export async function tryConfinement(read: ReadConfigOptions): Promise<TriedConfinement> {
  const { config } = readGatewayConfig({ ...read, setAside: { before: undefined } });
  const agents = config.agents.list.filter(({ runtime, tools }) => {
    const servers = [...(tools?.servers.values() ?? [])];
    return [runtime, ...servers.map((server) => ("program" in server ? server.program : undefined))].some(
      (program) => program?.isConfined === true,
    );
  });
  const problem = agents.length === 0 ? undefined : await canConfine();
  return { agents: agents.map(({ id }) => id), problem };
}

/** How long a model may take for one word; one that is loaded first takes long. */
const ONE_WORD_MS = 60_000;

/** Asks each model that an agent uses for one word, as a turn would. */
export async function tryConfiguredModels(read: ReadConfigOptions): Promise<readonly TriedModel[]> {
  const { config } = readGatewayConfig({ ...read, setAside: { before: undefined } });
  const used = config.agents.list.filter(({ model }) => model !== undefined);
  return Promise.all(
    Array.from(
      Map.groupBy(used, ({ model }) => model!),
      async ([model, agents]) => {
        const startMs = performance.now();
        const resolved = resolveModel(config, model);
        const outcome = "problem" in resolved ? { error: resolved.problem } : await oneWord(resolved);
        const problem = "error" in outcome ? outcome.error : undefined;
        return { model, agents: agents.map(({ id }) => id), problem, ms: Math.round(performance.now() - startMs) };
      },
    ),
  );
}

/** What goes wrong is in the outcome. */
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

function oneWord(model: ResolvedModel): Promise<ModelOutcome> {
  const messages = [{ role: "user", text: "Answer with the word ok." }] as const;
  const signal = AbortSignal.timeout(ONE_WORD_MS);
  const of = { agentId: "doctor", sessionKey: "doctor" };
  return runModelTurn(
    { model, systemPrompt: undefined, messages, thinking: undefined, signal, of },
    { logger: SILENT },
  );
}

function hostOf(config: GatewayConfig, { stateDir, logger }: { stateDir: string; logger: Logger }): GatewayHost {
  const lifecycle = createLifecycle();
  limitConfigTaps(lifecycle.onConfigLoad);
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

/** The URL of a gateway with that configuration on this machine, without a slash at its end. */
function gatewayUrl({ host, port }: Pick<GatewayConfig["gateway"], "host" | "port">): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
