/** The plugin inside one running OpenClaw gateway. */
import { chmod, mkdir } from "node:fs/promises";
import { qualifyKeys } from "../../config/qualify-keys.ts";
import type { ConfigSnapshot, GatewayPlugin, Logger } from "../../core/host.ts";
import { reasonLine, reasonOf } from "../../core/reason-of.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import { type HostStore, openHostStore } from "../shared/open-store.ts";
import { configFingerprint, loadConfig } from "./load-config.ts";
import type { LoadConfigOptions } from "./load-config.ts";
import { configFolder, OpenClawHost, stateFolder } from "./host.ts";
import { openClawLogger } from "./logger.ts";
import { OpenClawRoutes } from "./routes.ts";
import type { OpenClawApi, OpenClawConfig, OpenClawSdk, OpenClawServiceContext } from "./sdk.ts";
import { ServiceHealth } from "./service-health.ts";
import { shareDeliveries } from "./owner-access.ts";
import { consolePath } from "./console.ts";
import { blockKey } from "./plugin-block.ts";
import { untestedHost } from "./require-calls.ts";
import { END_AGAIN_MS, RunCleanup } from "./run-cleanup.ts";
import { scopedRuntime } from "./async-context.ts";
import type { ScopedRuntime } from "./async-context.ts";
import { probeHealth } from "./health-probe.ts";
import { applyIngress, type MakeTraces, openTraces } from "./ingress.ts";
import type { TraceExport } from "../../telemetry/traces.ts";
import type { PlaceholderRoute } from "./placeholder-route.ts";
import { OPENCLAW_MODULE_URL } from "./sqlite-state-module.ts";

/** Interval of the check for another configuration of the host. */
const POLL_MS = 250;
/** A start that failed is tried again, also without a change: another process may have held the database. */
const START_RETRY_MS = 5_000;
/** Time that runs may continue after the service was asked to stop; the host waits five seconds for a plugin. */
const STOP_MS = 3_000;
/**
 * Time that the first configuration waits until runs of an earlier process are ended; the rest follows beside it.
 * The host gives a service that it loads again five seconds to start.
 */
const END_LOST_RUNS_MS = 1_000;

/** The outcome of a configuration. */
export interface LoadOutcome {
  readonly reason: ConfigSnapshot["reason"];
  /** Why it was refused; absent when it is active. */
  readonly error?: unknown;
}

export interface OpenClawGatewayOptions extends LoadConfigOptions {
  /** Plugins beside the ingress. */
  readonly plugins?: () => readonly GatewayPlugin[];
  /** True when the ingress itself is left out. */
  readonly bare?: boolean;
  /** The route of the registration, if the configuration had hooks then. */
  readonly placeholder?: PlaceholderRoute | undefined;
  /** Finds the host's calls; rejects when one is missing. */
  readonly loadSdk: (api: OpenClawApi) => Promise<OpenClawSdk>;
  /** Called with every configuration that was loaded. */
  readonly onLoaded?: (outcome: LoadOutcome) => void;
}

const NO_PEEK =
  "this OpenClaw does not show its queues of system events: the end of the next turn counts as the proof that it took a wake";

/** The open parts while the gateway serves. */
interface OpenParts {
  readonly database: SqliteDatabase;
  readonly host: OpenClawHost;
  readonly routes: OpenClawRoutes;
  readonly cleanup: RunCleanup;
  readonly traces: Pick<TraceExport, "close"> | undefined;
  isStarted: boolean;
}

interface AssemblyParts {
  readonly sdk: OpenClawSdk;
  readonly store: HostStore;
  readonly stateDir: string;
  readonly makeTraces: MakeTraces | undefined;
}

/**
 * Opens the host, loads each configuration of the gateway into it, and closes it. A configuration that is
 * refused changes nothing: at a reload the one before stays, at the start nothing is served until the
 * next one.
 */
export class OpenClawGateway {
  readonly #options: OpenClawGatewayOptions;
  readonly #api: OpenClawApi;
  readonly #context: OpenClawServiceContext;
  readonly #logger: Logger;
  readonly #runtime: ScopedRuntime;
  readonly #health: ServiceHealth;
  readonly #closing = new AbortController();
  #open: OpenParts | undefined;
  /** The host's object, which is another one after each change. */
  #lastConfig: OpenClawConfig | undefined;
  #fingerprint: string | undefined;
  #triedAt = 0;
  /** The refusal that was logged last, until a configuration was accepted. */
  #lastRefusal: string | undefined;
  /** Ends the probe of the configuration before. */
  #probing = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #isWorking = false;
  #timer: NodeJS.Timeout | undefined;

  /** To be called in the service's start: agents are run in the async context of this moment. */
  constructor(api: OpenClawApi, context: OpenClawServiceContext, options: OpenClawGatewayOptions) {
    this.#api = api;
    this.#context = context;
    this.#options = options;
    this.#logger = openClawLogger(context.logger, blockKey(options.pluginId));
    this.#health = new ServiceHealth(context.serviceHealth);
    this.#runtime = scopedRuntime(api.runtime);
  }

  /** Resolves when the first configuration was accepted or refused; never rejects. */
  async start(): Promise<void> {
    await this.#poll();
    // The host may have stopped the service before its start had ended.
    if (this.#closing.signal.aborted) return;
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  /** Loads the present configuration, also when it was loaded before. */
  async reload(): Promise<void> {
    await this.#working;
    this.#lastConfig = undefined;
    this.#fingerprint = undefined;
    await this.#poll();
  }

  /** Takes no more requests, lets runs end for a while, and closes the database. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#working;
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    shareDeliveries(undefined);
    open.routes.close();
    const { host } = open;
    try {
      await host.lifecycle.onShutdown.promise({ deadlineMs: host.clock.now() + STOP_MS });
    } catch (error) {
      this.#logger.error({ err: error }, "a plugin did not shut down in order");
    }
    await open.traces?.close();
    await host.sessions.close();
    await open.database.close();
  }

  /** One check at a time; a configuration is loaded once. */
  #poll(): Promise<void> {
    if (this.#isWorking || this.#closing.signal.aborted) return this.#working;
    const config = this.#configNow();
    if (config === undefined) return this.#working;
    const due = this.#open?.isStarted !== true && performance.now() - this.#triedAt >= START_RETRY_MS;
    if (config === this.#lastConfig && !due) return this.#working;
    this.#lastConfig = config;
    const fingerprint = configFingerprint(config, this.#options);
    if (fingerprint === this.#fingerprint && !due) return this.#working;
    this.#fingerprint = fingerprint;
    this.#isWorking = true;
    this.#working = this.#load(config).finally(() => (this.#isWorking = false));
    return this.#working;
  }

  /** `undefined` when the host does not know it; it is asked again at the next check. */
  #configNow(): OpenClawConfig | undefined {
    try {
      return this.#runtime.config.current();
    } catch (error) {
      this.#logRefusal("The host's configuration could not be read", error);
      return undefined;
    }
  }

  async #load(config: OpenClawConfig): Promise<void> {
    const reason = this.#open?.isStarted === true ? "reload" : "start";
    this.#triedAt = performance.now();
    try {
      const open = (this.#open ??= await this.#openHost());
      await open.cleanup.lostRunsEnded(END_LOST_RUNS_MS);
      if (this.#closing.signal.aborted) return;
      const reserve = (path: string): (() => void) => open.routes.reserve(path);
      const table = await loadConfig(open.host, { config, reason, reserve }, this.#options);
      open.routes.use(table);
      open.isStarted = true;
      if (reason === "start") this.#begin(open);
      this.#lastRefusal = undefined;
      this.#health.set("configuration", undefined);
      this.#logger.info({ paths: open.routes.paths }, `configuration applied (${reason})`);
      this.#probe(open, config);
      this.#options.onLoaded?.({ reason });
    } catch (error) {
      this.#logRefusal(reason === "start" ? "Reveille could not start" : "The new configuration is refused", error);
      const words = qualifyKeys(reasonLine(error), blockKey(this.#options.pluginId));
      this.#health.set("configuration", new Error(words, { cause: error }));
      this.#options.onLoaded?.({ reason, error });
    }
  }

  /** A start is tried again and again: the same reason is logged once. */
  #logRefusal(what: string, error: unknown): void {
    const refusal = `${what}: ${reasonOf(error)}`;
    if (refusal === this.#lastRefusal) return;
    this.#lastRefusal = refusal;
    this.#logger.error({ err: error }, what);
  }

  async #openHost(): Promise<OpenParts> {
    const { pluginId, loadSdk } = this.#options;
    const sdk = await loadSdk(this.#api);
    const { version } = this.#api.runtime;
    const untested = untestedHost(version);
    if (untested !== undefined) this.#logger.info({ version }, untested);
    const stateDir = stateFolder(this.#context.stateDir, pluginId);
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await chmod(stateDir, 0o700);
    const store = await openHostStore({ stateDir, stateModule: OPENCLAW_MODULE_URL, logger: this.#logger });
    try {
      const makeTraces = await openTraces(this.#logger);
      return this.#assemble({ sdk, store, stateDir, makeTraces });
    } catch (error) {
      await store.database.close();
      throw error;
    }
  }

  #assemble({ sdk, store, stateDir, makeTraces }: AssemblyParts): OpenParts {
    const { database, openDeliveryStore: openStore } = store;
    const { pluginId, plugins, bare, placeholder: standing } = this.#options;
    const runtime = this.#runtime;
    const logger = this.#logger;
    const configDir = configFolder(this.#context.stateDir);
    const onStalled = (session: string, isStalled: boolean): void => this.#health.setStalled(session, isStalled);
    const host = new OpenClawHost({ pluginId, runtime, sdk, database, logger, stateDir, configDir, onStalled });
    if (sdk.peekSystemEventEntries === undefined) logger.warn({}, NO_PEEK);
    const config = (): OpenClawConfig => runtime.config.current();
    const refusal = (): string | undefined => this.#lastRefusal;
    const applied =
      bare === true ? undefined : applyIngress(host, { openStore, pluginId, config, refusal, makeTraces });
    const guarded = applied === undefined ? [] : [applied.route];
    for (const plugin of plugins?.() ?? []) plugin.apply(host);
    const register = sdk.registerPluginHttpRoute.bind(sdk);
    const { source = pluginId } = this.#api;
    const routes = new OpenClawRoutes({ pluginId, source, register, logger, placeholder: standing, guarded });
    const closing = this.#closing.signal;
    const cleanup = new RunCleanup({ agents: host.agents, logger, closing, endAgainMs: END_AGAIN_MS });
    return { database, host, routes, cleanup, traces: applied?.traces, isStarted: false };
  }

  #begin({ host, cleanup: housekeeping }: OpenParts): void {
    host.sessions.start();
    housekeeping.sweep();
  }

  #probe({ routes }: OpenParts, config: OpenClawConfig): void {
    this.#probing.abort();
    // What was said of the configuration before says nothing of this one.
    this.#health.set("address", undefined);
    const path = routes.paths.find((each) => each !== consolePath(this.#options.pluginId));
    if (path === undefined || this.#options.bare === true) return;
    this.#probing = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, this.#probing.signal]);
    void probeHealth({ config, path, logger: this.#logger, signal }).then((problem) => {
      if (problem === undefined || signal.aborted) return;
      this.#logger.error({}, problem);
      this.#health.set("address", new Error(problem));
    });
  }
}
