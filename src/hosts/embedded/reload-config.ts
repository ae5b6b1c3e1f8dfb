/** The configuration in force, and how the next one takes its place. */
import { statSync } from "node:fs";
import { ConfigError, configLines } from "../../config/config-error.ts";
import type { HostLifecycle, Logger } from "../../core/host.ts";
import { readGatewayConfig, readText } from "./config/read-gateway-config.ts";
import type { ReadConfig, ReadConfigOptions } from "./config/read-gateway-config.ts";
import { findConfigError } from "../../config/find-config-error.ts";
import type { GatewayConfig } from "./gateway-config.ts";
import { offerConfig } from "./load-config.ts";
import type { AcceptedConfig } from "./load-config.ts";
import type { PluginRollout } from "./reload-plugins.ts";
import type { PluginSet } from "./plugin-set.ts";
import { failureReason } from "../../core/failure-reason.ts";
import { planReload } from "./restart-needs.ts";

/** What became of a reload. */
export interface ReloadOutcome {
  /** False when the new configuration was refused and the one before stays. */
  readonly applied: boolean;
  /** Keys that have changed and take effect at the next start. */
  readonly restartNeeded: readonly string[];
  /** What could not be taken into use although nobody had refused it, a reason each; absent when all of it is. */
  readonly failures?: readonly string[];
}

const ABANDONED = "The gateway stops, and takes no further configuration into use.";
const refused: ReloadOutcome = Object.freeze({ applied: false, restartNeeded: [] });

export interface ConfigRolloutOptions extends ReadConfigOptions {
  readonly logger: Logger;
}

export interface ReloadOptions {
  /** Their next set is made when the block of the configuration is another one. */
  readonly plugins: PluginRollout;
  /** Called after the commit, in the same turn of the event loop: no request sees one part new and another old. */
  readonly inForce: (plugins: PluginSet) => void;
  /** True once the new configuration is not wanted any more: the gateway stops. */
  readonly isAbandoned: () => boolean;
}

/** Holds one configuration at a time; a new one is in force everywhere or nowhere. */
export class ConfigRollout {
  readonly #options: ConfigRolloutOptions;
  #current: GatewayConfig;
  /** What was read last, accepted or not. */
  #text: string;
  /** When the file was written that was refused last; `undefined` when the last one was accepted. */
  #refusedAt: number | undefined;

  /** Reads the configuration. Throws a {@link ConfigError}. */
  constructor(options: ConfigRolloutOptions) {
    this.#options = options;
    const read = readGatewayConfig(options);
    this.#current = read.config;
    this.#text = read.text;
    this.#warn(read);
  }

  get current(): GatewayConfig {
    return this.#current;
  }

  /**
   * True when the file holds something else than what was read last, or cannot be read. One that was
   * refused is worth another try when it is saved again: the plugin or the module that it names may
   * have been mended.
   */
  hasChanged(): boolean {
    const { file } = this.#options;
    try {
      return readText(file) !== this.#text || (this.#refusedAt !== undefined && this.#refusedAt !== writtenAt(file));
    } catch {
      return true;
    }
  }

  /** Offers the first configuration to the plugins and commits it; rejects with their refusal. */
  async start(lifecycle: HostLifecycle): Promise<void> {
    const accepted = await offerConfig(lifecycle, this.#current, "start");
    const [failure] = accepted.commit();
    // Nothing is served yet, so that this can still be refused as a whole.
    if (failure !== undefined) throw failure;
  }

  /**
   * Reads the file again, offers it to the plugins and commits it. Plugins whose block has changed are
   * loaded anew, and the configuration is offered to those. A refusal is logged and changes nothing.
   */
  async reload({ plugins, inForce, isAbandoned }: ReloadOptions): Promise<ReloadOutcome> {
    try {
      // Noted first: a text that is refused for its form is not to be reported again and again.
      this.#refusedAt = writtenAt(this.#options.file);
      this.#text = readText(this.#options.file);
      const read = readGatewayConfig(this.#options);
      this.#text = read.text;
      const plan = planReload(this.#current, read.config);
      const next = await plugins.prepare(plan.config.plugins);
      const accepted = await this.#offer(plan.config, next, { plugins, isAbandoned });
      this.#refusedAt = undefined;
      this.#current = plan.config;
      const failures = this.#commit(accepted, () => {
        plugins.use(next);
        inForce(next);
      });
      this.#warn(read);
      this.#report(plan.restartNeeded, failures);
      return { applied: true, restartNeeded: plan.restartNeeded, ...(failures.length > 0 && { failures }) };
    } catch (error) {
      if (!isAbandoned()) this.#reportRefusal(error);
      return refused;
    }
  }

  /** Rejects also when the new configuration is not wanted any more, and then the set is discarded as well. */
  async #offer(
    config: GatewayConfig,
    next: PluginSet,
    { plugins, isAbandoned }: Pick<ReloadOptions, "plugins" | "isAbandoned">,
  ): Promise<AcceptedConfig> {
    try {
      if (isAbandoned()) throw new Error(ABANDONED);
      const accepted = await offerConfig(next.host.lifecycle, config, "reload");
      if (isAbandoned()) throw new Error(ABANDONED);
      return accepted;
    } catch (error) {
      plugins.discard(next);
      throw error;
    }
  }

  /** By contract nothing of it throws; when something does, the rest is in force all the same. */
  #commit(accepted: AcceptedConfig, useRest: () => void): readonly string[] {
    const errors: unknown[] = [...accepted.commit()];
    try {
      useRest();
    } catch (error) {
      errors.push(error);
    }
    for (const error of errors) {
      this.#options.logger.error({ err: error }, "A part of the new configuration could not be taken into use.");
    }
    return errors.map(failureReason);
  }

  #warn({ warnings }: ReadConfig): void {
    for (const warning of configLines(warnings)) this.#options.logger.warn({}, warning);
  }

  #report(restartNeeded: readonly string[], failures: readonly string[]): void {
    const { logger } = this.#options;
    if (failures.length === 0) logger.info({}, "The new configuration is in force.");
    else logger.warn({ failures }, "The new configuration is in force, but for what failed.");
    if (restartNeeded.length === 0) return;
    logger.warn({ keys: restartNeeded }, "Some changed keys take effect when the gateway is restarted.");
  }

  #reportRefusal(error: unknown): void {
    const message = "The new configuration is refused; the one before stays in force.";
    const cause = findConfigError(error);
    if (cause instanceof ConfigError) this.#options.logger.error({ issues: configLines(cause.issues) }, message);
    else this.#options.logger.error({ err: error }, message);
  }
}

/** `undefined` when it cannot be known; reading the file says why. */
function writtenAt(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
