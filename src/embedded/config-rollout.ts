/** The configuration in force, and how the next one takes its place. */
import { ConfigError, configLines } from "../config/config-error.ts";
import type { HostLifecycle, Logger } from "../host.ts";
import { readGatewayConfig, readText } from "./config/read-gateway-config.ts";
import type { ReadConfig, ReadConfigOptions } from "./config/read-gateway-config.ts";
import { findConfigError } from "./explain-failure.ts";
import type { GatewayConfig } from "./gateway-config.ts";
import { offerConfig } from "./offer-config.ts";
import { planReload } from "./restart-needs.ts";

/** What became of a reload. */
export interface ReloadOutcome {
  /** False when the new configuration was refused and the one before stays. */
  readonly applied: boolean;
  /** Keys that have changed and take effect at the next start. */
  readonly restartNeeded: readonly string[];
}

const refused: ReloadOutcome = Object.freeze({ applied: false, restartNeeded: [] });

export interface ConfigRolloutOptions extends ReadConfigOptions {
  readonly logger: Logger;
}

/** Holds one configuration at a time; a new one is in force everywhere or nowhere. */
export class ConfigRollout {
  readonly #options: ConfigRolloutOptions;
  #current: GatewayConfig;
  /** What was read last, accepted or not. */
  #text: string;

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

  /** True when the file holds something else than what was read last, or cannot be read. */
  hasChanged(): boolean {
    try {
      return readText(this.#options.file) !== this.#text;
    } catch {
      return true;
    }
  }

  /** Offers the first configuration to the plugins and commits it; rejects with their refusal. */
  async start(lifecycle: HostLifecycle): Promise<void> {
    const accepted = await offerConfig(lifecycle, this.#current, "start");
    accepted.commit();
  }

  /**
   * Reads the file again, offers it to the plugins and commits it. `inForce` is called after the
   * commit, in the same turn of the event loop: no request sees one part new and another old. A
   * refusal is logged and changes nothing.
   */
  async reload(lifecycle: HostLifecycle, inForce: () => void): Promise<ReloadOutcome> {
    try {
      // Noted first: a text that is refused for its form is not to be reported again and again.
      this.#text = readText(this.#options.file);
      const read = readGatewayConfig(this.#options);
      this.#text = read.text;
      const plan = planReload(this.#current, read.config);
      const accepted = await offerConfig(lifecycle, plan.config, "reload");
      this.#current = plan.config;
      this.#commit(() => {
        accepted.commit();
      }, inForce);
      this.#warn(read);
      this.#report(plan.restartNeeded);
      return { applied: true, restartNeeded: plan.restartNeeded };
    } catch (error) {
      this.#reportRefusal(error);
      return refused;
    }
  }

  /** By contract neither throws; when one does, the rest is in force all the same. */
  #commit(...steps: readonly (() => void)[]): void {
    for (const step of steps) {
      try {
        step();
      } catch (error) {
        this.#options.logger.error({ err: error }, "A part of the new configuration could not be taken into use.");
      }
    }
  }

  #warn({ warnings }: ReadConfig): void {
    for (const warning of configLines(warnings)) this.#options.logger.warn({}, warning);
  }

  #report(restartNeeded: readonly string[]): void {
    this.#options.logger.info({}, "The new configuration is in force.");
    if (restartNeeded.length === 0) return;
    this.#options.logger.warn({ keys: restartNeeded }, "Some changed keys take effect when the gateway is restarted.");
  }

  #reportRefusal(error: unknown): void {
    const message = "The new configuration is refused; the one before stays in force.";
    const cause = findConfigError(error);
    if (cause instanceof ConfigError) this.#options.logger.error({ issues: configLines(cause.issues) }, message);
    else this.#options.logger.error({ err: error }, message);
  }
}
