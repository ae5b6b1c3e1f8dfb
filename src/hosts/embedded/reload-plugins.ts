/** The plugins in force, and how the next ones take their place. */
import { isDeepStrictEqual } from "node:util";
import type { GatewayHost, Logger } from "../../core/host.ts";
import type { PluginsConfig } from "./gateway-config.ts";
import { PluginSet } from "./plugin-set.ts";
import type { PluginSetOptions } from "./plugin-set.ts";
import type { LoadedPlugin } from "./plugins/load-plugins.ts";
import { loadPluginsInTime } from "./plugins-in-time.ts";

export interface PluginRolloutOptions extends Omit<PluginSetOptions, "host"> {
  /** Makes a host object with hooks of its own; all else is shared with those before. */
  readonly createHost: () => GatewayHost;
  /** The exports of this package, for plugins that import it. */
  readonly publicApi: object;
  readonly logger: Logger;
  /** How long plugins that were replaced may take to finish, and then to shut down; asked anew at each use. */
  readonly patienceMs: () => number;
  readonly loadTimeoutMs?: number;
}

/** Holds one set of plugins at a time; the next one is in force as a whole or not at all. */
export class PluginRollout {
  readonly #options: PluginRolloutOptions;
  #current: PluginSet;
  /** Replaced, or refused before they came into use; each leaves when it has shut down. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** The first set is {@link start}'s to fill; it can be shut down from now on. */
  constructor(config: PluginsConfig, options: PluginRolloutOptions) {
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
   * The set for a `plugins` block: the one in force when the block is the same, else one of plugins that
   * are all loaded anew. Rejects with a `ConfigError`, or once all were closed, and then nothing is left of what
   * was made.
   */
  async prepare(config: PluginsConfig): Promise<PluginSet> {
    if (isDeepStrictEqual(config, this.#current.config)) return this.#current;
    const { logger, publicApi, loadTimeoutMs } = this.#options;
    const loaded = await loadPluginsInTime(config, { logger, publicApi, loadTimeoutMs });
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

  /** Puts a set in force; the one before is shut down in the background, never in this turn of the event loop. */
  use(next: PluginSet): void {
    const before = this.#current;
    if (before === next) return;
    this.#current = next;
    this.#leave(async () => {
      await before.retire(this.#options.patienceMs(), this.#closing.signal);
    });
  }

  /** Shuts a set down that was prepared and is not wanted; the one in force stays as it is. */
  discard(set: PluginSet): void {
    if (set === this.#current) return;
    this.#leave(async () => {
      await set.shutDown(this.#options.clock.now() + this.#options.patienceMs());
    });
  }

  /** Shuts all of them down, those too that are about to leave. Ends soon after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#current.shutDown(deadlineMs), ...this.#leaving]);
  }

  #create(config: PluginsConfig): PluginSet {
    const { createHost, builtIn, given, clock } = this.#options;
    return new PluginSet(config, { host: createHost(), builtIn, given, clock });
  }

  #leave(shutDown: () => Promise<void>): void {
    const left = Promise.resolve().then(shutDown);
    this.#leaving.add(left);
    void left.finally(() => this.#leaving.delete(left));
  }
}
