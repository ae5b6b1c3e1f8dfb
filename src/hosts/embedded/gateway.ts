/** The embedded gateway: a small real gateway in one process and one SQLite file. */
import { resolve } from "node:path";
import type { Clock, GatewayPlugin, Logger } from "../../core/host.ts";
import * as publicApi from "../../index.ts";
import { GatewayApi, gatewayEndpoints } from "./server/api.ts";
import { ApiGuard } from "./server/guard.ts";
import { ConsoleRoutes } from "../../console/routes.ts";
import { LiveEvents } from "../../console/live-events.ts";
import { GatewayConfigReload, type ReloadOutcome } from "./config/reload.ts";
import { type ConfigWatch, watchConfigFile } from "./config/watch.ts";
import { findConfigError } from "../../config/errors.ts";
import { asStartError } from "./errors.ts";
import type { GatewayOptions } from "./gateway-options.ts";
import { createGatewayLogger } from "./logger.ts";
import { openGatewayParts, type GatewayParts } from "./gateway-parts.ts";
import { PLUGIN_GRACE_MS, untilPluginsEnd } from "./plugins/shutdown.ts";
import { PluginReload, type PluginSet } from "./plugins/reload.ts";
import { loadPlugins } from "./plugins/load.ts";
import { McpRoute } from "./server/mcp-route.ts";
import { MetricsRoute } from "./server/metrics-route.ts";
import { GatewayServer, localUrl } from "./server.ts";
import type { TraceExport } from "../../telemetry/traces.ts";
import { GatewayStatus } from "./status.ts";
import { Subscriptions } from "./subscriptions/subscriptions.ts";
import { hooksPathOf, hooksUrlOf } from "./config/snapshot.ts";
import { PublicAddress } from "./tunnel/public-address.ts";
import { CONSOLE_PATH, RoutingTable } from "./server/routing-table.ts";

export type { GatewayOptions } from "./gateway-options.ts";

/** The open parts of a gateway; less than all of them while it starts. */
interface OpenGateway {
  parts?: GatewayParts;
  plugins?: PluginReload;
  server?: GatewayServer;
  watch?: ConfigWatch;
  traces?: Pick<TraceExport, "close">;
  subscriptions?: Subscriptions;
}

const systemClock: Clock = { now: () => Date.now() };

/**
 * A running gateway. Its lifecycle: plugins are applied, the configuration is prepared by them and
 * committed, routes are built, the server listens; a change of the file repeats prepare, commit and
 * routes, with plugins loaded and applied again where their block has changed; a stop takes no more requests, shuts the plugins down and closes the database.
 */
export class EmbeddedGateway {
  readonly #options: GatewayOptions;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #config: GatewayConfigReload;
  readonly #guard: ApiGuard;
  readonly #open: OpenGateway = {};
  readonly #events = new LiveEvents();
  readonly #publicAddress: PublicAddress;
  #routes = new RoutingTable();
  #api: GatewayApi | undefined;
  #console: ConsoleRoutes | undefined;
  #reloading: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  /**
   * Starts a gateway; resolves when it answers requests. Rejects with a `ConfigError` or a
   * `StartError`, whose messages are for the gateway's owner, after everything that was opened has
   * been closed again.
   */
  static async start(options: GatewayOptions): Promise<EmbeddedGateway> {
    const gateway = new EmbeddedGateway(options);
    try {
      await gateway.#start();
    } catch (error) {
      await gateway.stop();
      throw findConfigError(error) ?? asStartError(error);
    }
    return gateway;
  }

  private constructor(options: GatewayOptions) {
    const { host, port, strict, logger = createGatewayLogger(), clock = systemClock, env = process.env } = options;
    this.#options = { ...options, configFile: resolve(options.configFile), stateDir: resolve(options.stateDir) };
    this.#logger = logger;
    this.#clock = clock;
    const common = { env, clock, logger };
    this.#publicAddress = new PublicAddress({
      ...common,
      stateDir: this.#options.stateDir,
      onChange: () => void this.reload(),
      onUrl: (url) => options.onHooksUrl?.(hooksUrlOf(this.#config.current, url) ?? url),
      timings: options.toolTimings,
    });
    this.#config = new GatewayConfigReload({
      ...common,
      file: this.#options.configFile,
      overrides: { host, port },
      publicUrl: (expose) => this.#publicAddress.urlOf(expose),
      strict,
    });
    this.#guard = new ApiGuard(this.#config.current.gateway, { clock });
  }

  /** Its URL on this machine: `http://127.0.0.1:18789`. */
  get url(): string {
    if (this.#open.server === undefined) throw new Error("The gateway is not listening.");
    const { host } = this.#config.current.gateway;
    return localUrl(host, this.#open.server.port);
  }

  /** The console's URL, good for one sign-in within 60 seconds. */
  createConsoleLink(): string {
    return `${this.url}${this.#console?.createLink() ?? CONSOLE_PATH}`;
  }

  /**
   * Reads the configuration again and applies it. A request in progress finishes on what it
   * began with; a refused configuration is logged and changes nothing. Reloads follow one another.
   */
  reload(): Promise<ReloadOutcome> {
    const reloaded = this.#reloading.then(() => this.#reload());
    this.#reloading = reloaded.catch(() => {});
    return reloaded;
  }

  /**
   * Stops in order: no further requests, then the plugins, the heartbeat and the answers in progress, each until
   * `gateway.shutdownSeconds` have passed, then the database. Calls after the first wait for the same end.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<void> {
    const { configFile, stateDir, acceptLoss, compact, onUpdate, print, strict = false } = this.#options;
    const common = { stateDir, clock: this.#clock, logger: this.#logger };
    const { plugins: pluginsConfig } = this.#config.current;
    const loaded = await loadPlugins(pluginsConfig, {
      logger: this.#logger,
      publicApi,
      setAside: strict ? undefined : { before: undefined },
    });
    const parts = await openGatewayParts({
      config: () => this.#config.current,
      acceptLoss,
      compact,
      onUpdate,
      print,
      ...common,
      decide: (id, decision) => ingress.operations().deliveries[decision](id),
    });
    this.#open.parts = parts;
    const ingress: publicApi.WebhookIngress = new publicApi.WebhookIngress({
      openStore: parts.openDeliveryStore,
      takeDatabase: parts.takeDatabase,
      strict,
    });
    const hooksUrl = (): string | undefined => hooksUrlOf(this.#config.current, this.#publicAddress.state?.url);
    const subscriptions = new Subscriptions({
      ...common,
      state: parts.state,
      ingress: () => ingress,
      hooksUrl: () => hooksUrl() ?? (this.#publicAddress.state && null),
      ownUrl: () => `${this.url}${hooksPathOf(this.#config.current)}`,
      config: () => this.#config.current,
      options: this.#options,
    });
    this.#open.subscriptions = subscriptions;
    const plugins = new PluginReload(pluginsConfig, {
      createHost: parts.createHost,
      builtIn: ingress,
      given: [this.#events, ...subscriptions.plugins, ...(await this.#givenPlugins(ingress))],
      strict,
      publicApi,
      ...common,
      drainTimeoutMs: () => this.#config.current.gateway.shutdownMs,
    });
    this.#open.plugins = plugins;
    plugins.start(loaded);
    await this.#config.start(plugins.current.host.lifecycle);
    const status = new GatewayStatus({
      ...parts,
      ingress,
      refusal: () => this.#config.refusal,
      publicAddress: this.#publicAddress,
      hooksUrl,
      subscriptions: () => subscriptions.states,
      ...common,
    });
    const sources = { ...parts, operations: () => ingress.operations(), clock: this.#clock };
    const endpoints = gatewayEndpoints(sources, status);
    this.#console = new ConsoleRoutes({
      path: CONSOLE_PATH,
      guard: this.#guard,
      endpoints,
      events: this.#events,
      ...common,
    });
    const own = { config: this.#config.current, clock: this.#clock };
    this.#api = new GatewayApi({
      status,
      endpoints: { ...endpoints, ...this.#console.linkEndpoint() },
      guard: this.#guard,
      metrics: new MetricsRoute({ ...own, endpoint: endpoints["metrics"] ?? {} }),
      mcp: new McpRoute({ ...own, sources, events: subscriptions.offered, logger: this.#logger }),
    });
    parts.start(ingress.leading);
    const { host, port } = this.#config.current.gateway;
    this.#fill(this.#routes, plugins.current);
    this.#open.server = await GatewayServer.listen({ host, port, routes: this.#routes, logger: this.#logger });
    this.#logger.info({ url: this.url }, "listening");
    this.#expose();
    subscriptions.start();
    this.#open.watch = await watchConfigFile(configFile, () => void this.#reloadIfChanged(), {
      onError: (error) => {
        this.#logger.error({ err: error }, "the configuration file can no longer be watched");
      },
    });
    // The file may have been changed before it was watched.
    await this.#reloadIfChanged();
  }

  /** The library of the export of traces is loaded only where it is configured. */
  async #givenPlugins(ingress: publicApi.WebhookIngress): Promise<readonly GatewayPlugin[]> {
    const { plugins = [] } = this.#options;
    const { otlp } = this.#config.current.telemetry;
    if (otlp === undefined) return plugins;
    const { TraceExport } = await import("../../telemetry/traces.ts");
    const traces = new TraceExport({ ...otlp, deliveries: () => ingress.deliveries(), logger: this.#logger });
    this.#open.traces = traces;
    return [traces, ...plugins];
  }

  async #reloadIfChanged(): Promise<void> {
    if (this.#config.hasChanged()) await this.reload();
  }

  async #reload(): Promise<ReloadOutcome> {
    const { parts, plugins, server } = this.#open;
    const isAbandoned = (): boolean => this.#stopping !== undefined;
    if (parts === undefined || plugins === undefined || server === undefined || isAbandoned()) {
      return { applied: false, restartNeeded: [] };
    }
    const before = plugins.current;
    return await this.#config.reload({
      plugins,
      isAbandoned,
      activate: (active) => {
        this.#guard.configure(this.#config.current.gateway);
        this.#api?.configure(this.#config.current);
        parts.heartbeat.reschedule();
        const routes = new RoutingTable();
        // Of plugins that are gone nothing may be left; else the table before is the better one, when this cannot be filled.
        if (active !== before) this.#routes = routes;
        try {
          this.#fill(routes, active);
          this.#routes = routes;
        } finally {
          server.use(this.#routes);
          this.#expose();
          this.#open.subscriptions?.configure();
        }
      },
    });
  }

  #fill(routes: RoutingTable, plugins: PluginSet): void {
    const router = plugins.countRequests(routes);
    this.#api?.route(router);
    this.#console?.route(router);
    this.#console?.routeFromRoot(router);
    this.#publicAddress.route(router, hooksPathOf(this.#config.current));
    plugins.host.lifecycle.onHttpRoute.call(router);
  }

  #expose(): void {
    const { current } = this.#config;
    this.#publicAddress.use(this.#routes, hooksPathOf(current), current.gateway.expose);
  }

  async #stop(): Promise<void> {
    const { parts, plugins, server, watch, traces, subscriptions } = this.#open;
    const deadlineMs = this.#clock.now() + this.#config.current.gateway.shutdownMs;
    const leftMs = (): number => Math.max(0, deadlineMs - this.#clock.now());
    server?.stopAccepting();
    this.#publicAddress.stopAccepting();
    parts?.approvals.stop();
    this.#events.close();
    await watch?.close();
    await subscriptions?.stop();
    await untilPluginsEnd(this.#reloading, leftMs(), this.#logger);
    if (plugins !== undefined) {
      await untilPluginsEnd(plugins.close(deadlineMs), leftMs() + PLUGIN_GRACE_MS, this.#logger);
    }
    await parts?.stop(deadlineMs);
    await Promise.all([server?.close(leftMs()), this.#publicAddress.close(leftMs()), traces?.close()]);
    await parts?.close();
  }
}
