/** Plugins that were applied together, and the requests that began under them. */
import type { Clock, GatewayHost, GatewayPlugin, HttpRoute, HttpRouter } from "../../core/host.ts";
import type { PluginsConfig } from "./gateway-config.ts";
import { applyPlugin } from "./plugins/load-plugins.ts";
import type { LoadedPlugin } from "./plugins/load-plugins.ts";

export interface PluginSetOptions {
  /** A host object of their own: its hooks are tapped by these plugins, and never by others. */
  readonly host: GatewayHost;
  /** The ingress: the same in every set. Applied first. */
  readonly builtIn: GatewayPlugin;
  /** Those of the program that embeds the gateway, the same in every set. Applied last. */
  readonly given: readonly GatewayPlugin[];
  readonly clock: Clock;
}

/**
 * The plugins of one `plugins` block, applied to one host object.
 *
 * Hooks are never untapped: the next set has a host object of its own, and this one is shut down when
 * the last request has ended that began under it.
 */
export class PluginSet {
  /** What they were loaded from. */
  readonly config: PluginsConfig;
  readonly #options: PluginSetOptions;
  #requests = 0;
  #hasOthers = false;
  #onIdle: (() => void) | undefined;

  constructor(config: PluginsConfig, options: PluginSetOptions) {
    this.config = config;
    this.#options = options;
  }

  get host(): GatewayHost {
    return this.#options.host;
  }

  /** Applies them in order. Throws what one of them throws, in words for the gateway's owner where it was configured. */
  apply(loaded: readonly LoadedPlugin[]): void {
    const { host, builtIn, given } = this.#options;
    this.#hasOthers = loaded.length + given.length > 0;
    builtIn.apply(host);
    for (const plugin of loaded) applyPlugin(plugin, host);
    for (const plugin of given) plugin.apply(host);
  }

  /** A router that gives the routes on, and counts their requests as this set's. */
  counting(routes: HttpRouter): HttpRouter {
    // The built-in plugin goes on in the next set, so that nothing has to wait for its requests.
    if (!this.#hasOthers) return routes;
    return {
      register: (route) => {
        routes.register(this.#counted(route));
      },
    };
  }

  /**
   * Shuts the plugins down that another set has taken the place of: after the requests under way,
   * for which it waits at most `patienceMs`, and with a deadline as far away. `hurry` ends the waiting.
   */
  async retire(patienceMs: number, hurry: AbortSignal): Promise<void> {
    await this.#idle(patienceMs, hurry);
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

  async #idle(patienceMs: number, hurry: AbortSignal): Promise<void> {
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
