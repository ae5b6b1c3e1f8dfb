/** The plugins active, and how the next ones take their place. */
import { isDeepStrictEqual } from "node:util";
import type { Clock, GatewayHost, GatewayPlugin, HttpRoute, HttpRouter, Logger } from "../../../core/host.ts";
import type { PluginsConfig } from "../config/file.ts";
import { limitConfigTaps } from "./config-taps.ts";
import { applyPlugin, loadPlugins } from "./load.ts";
import type { LoadedPlugin } from "./set-aside.ts";

interface PluginSetOptions {
  /** A host object of their own: its hooks are tapped by these plugins, and never by others. */
  readonly host: GatewayHost;
  /** The ingress: the same in every set. Applied first. */
  readonly builtIn: GatewayPlugin;
  /** Those of the program that embeds the gateway, the same in every set. Applied last. */
  readonly given: readonly GatewayPlugin[];
  readonly clock: Clock;
  /** For each tap of `onConfigLoad` but the ingress's. */
  readonly configTimeoutMs?: number | undefined;
}

/**
 * The plugins of one `plugins` block, applied to one host object.
 *
 * Hooks are never untapped: the next set has a host object of its own, and this one is shut down when
 * the last request has ended that began under it.
 */
export class PluginSet {
  /** The configuration that they were loaded from. */
  readonly config: PluginsConfig;
  readonly #options: PluginSetOptions;
  #requests = 0;
  #hasOthers = false;
  #loaded: readonly LoadedPlugin[] = [];
  #onIdle: (() => void) | undefined;

  constructor(config: PluginsConfig, options: PluginSetOptions) {
    this.config = config;
    this.#options = options;
  }

  /** Those of the configuration, as they were loaded. */
  get loaded(): readonly LoadedPlugin[] {
    return this.#loaded;
  }

  /** True when one of them is not as it is on disk. */
  get hasFailures(): boolean {
    return this.#loaded.some(({ failure }) => failure !== undefined);
  }

  get host(): GatewayHost {
    return this.#options.host;
  }

  /** Applies them in order. Throws what one of them throws, in words for the gateway's owner where it was configured. */
  apply(loaded: readonly LoadedPlugin[]): void {
    const { host, builtIn, given } = this.#options;
    this.#loaded = loaded;
    this.#hasOthers = loaded.length + given.length > 0;
    builtIn.apply(host);
    limitConfigTaps(host.lifecycle.onConfigLoad, this.#options.configTimeoutMs);
    for (const plugin of loaded) applyPlugin(plugin, host);
    for (const plugin of given) plugin.apply(host);
  }

  /** A router that gives the routes on, and counts their requests as this set's. */
  countRequests(routes: HttpRouter): HttpRouter {
    // The built-in plugin continues in the next set, so that nothing has to wait for its requests.
    if (!this.#hasOthers) return routes;
    return {
      register: (route) => {
        routes.register(this.#counted(route));
      },
    };
  }

  /**
   * Shuts the plugins down that another set has taken the place of: after the requests in progress,
   * for which it waits at most `patienceMs`, and with a deadline as far away. `hurry` ends the waiting.
   */
  async drain(patienceMs: number, hurry: AbortSignal): Promise<void> {
    await this.#waitUntilIdle(patienceMs, hurry);
    await this.shutDown(this.#options.clock.now() + patienceMs);
  }

  /** Fires `onShutdown`. Ends soon after the deadline, and never rejects. */
  shutDown(deadlineMs: number): Promise<void> {
    return this.host.lifecycle.onShutdown.promise({ deadlineMs });
  }

  #counted(route: HttpRoute): HttpRoute {
    const { path, match } = route;
    return {
      path,
      match,
      handler: (req, res) => {
        this.#requests++;
        res.once("close", () => {
          this.#requests--;
          if (this.#requests === 0) this.#onIdle?.();
        });
        return route.handler(req, res);
      },
    };
  }

  async #waitUntilIdle(patienceMs: number, hurry: AbortSignal): Promise<void> {
    if (this.#requests === 0 || hurry.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, patienceMs);
    this.#onIdle = resolve;
    const give = (): void => resolve();
    hurry.addEventListener("abort", give, { once: true });
    await promise;
    hurry.removeEventListener("abort", give);
    clearTimeout(timer);
  }
}

export interface PluginReloadOptions extends Omit<PluginSetOptions, "host"> {
  /** Makes a host object with hooks of its own; all else is shared with those before. */
  readonly createHost: () => GatewayHost;
  /** The exports of this package, for plugins that import it. */
  readonly publicApi: object;
  readonly logger: Logger;
  /** Time that replaced plugins may take to finish, and then to shut down; asked again at each use. */
  readonly drainTimeoutMs: () => number;
  readonly loadTimeoutMs?: number;
  /** True: a plugin that fails to load refuses its block; else it keeps its version of before, or is set aside. */
  readonly strict?: boolean;
}

/** Holds one set of plugins at a time; the next one is active as a whole or not at all. */
export class PluginReload {
  readonly #options: PluginReloadOptions;
  #current: PluginSet;
  /** Replaced, or refused before they became active; each leaves when it has shut down. */
  readonly #draining = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** The first set is {@link start}'s to fill; it can be shut down from now on. */
  constructor(config: PluginsConfig, options: PluginReloadOptions) {
    this.#options = options;
    this.#current = this.#create(config);
  }

  get current(): PluginSet {
    return this.#current;
  }

  /** Applies the first plugins. Throws what one of them throws. */
  start(loaded: readonly LoadedPlugin[]): void {
    this.#current.apply(loaded);
  }

  /**
   * The set for a `plugins` block: the one active when the block is the same and none of it failed, else one of plugins that
   * are all loaded again. Rejects with a `ConfigError`, or once all were closed, and then nothing is left of what
   * was made.
   */
  async prepare(config: PluginsConfig): Promise<PluginSet> {
    if (isDeepStrictEqual(config, this.#current.config) && !this.#current.hasFailures) return this.#current;
    const { logger, publicApi, loadTimeoutMs, strict = false } = this.#options;
    const setAside = strict ? undefined : { before: this.#current.loaded };
    const loaded = await loadPlugins(config, { logger, publicApi, loadTimeoutMs, setAside });
    if (this.#closing.signal.aborted) throw new Error("The gateway was stopped while its plugins were being loaded.");
    const next = this.#create(config);
    try {
      next.apply(loaded);
    } catch (error) {
      this.discard(next);
      throw error;
    }
    return next;
  }

  /** Puts a set active; the one before is shut down in the background, never in this turn of the event loop. */
  activate(next: PluginSet): void {
    const before = this.#current;
    if (before === next) return;
    this.#current = next;
    this.#drain(async () => {
      await before.drain(this.#options.drainTimeoutMs(), this.#closing.signal);
    });
  }

  /** Shuts a set down that was prepared and is not wanted; the one active stays as it is. */
  discard(set: PluginSet): void {
    if (set === this.#current) return;
    this.#drain(async () => {
      await set.shutDown(this.#options.clock.now() + this.#options.drainTimeoutMs());
    });
  }

  /** Shuts all of them down, those too that are about to leave. Ends soon after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#current.shutDown(deadlineMs), ...this.#draining]);
  }

  #create(config: PluginsConfig): PluginSet {
    const { createHost, builtIn, given, clock, configTimeoutMs } = this.#options;
    return new PluginSet(config, { host: createHost(), builtIn, given, clock, configTimeoutMs });
  }

  #drain(shutDown: () => Promise<void>): void {
    const left = Promise.resolve().then(shutDown);
    this.#draining.add(left);
    void left.finally(() => this.#draining.delete(left));
  }
}
