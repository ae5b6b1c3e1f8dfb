/** The configuration active, and how the next one takes its place. */
import { statSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { ConfigError, configLines } from "../../../config/errors.ts";
import { findConfigError } from "../../../config/errors.ts";
import { reasonLine } from "../../../core/reason-of.ts";
import type { ConfigSnapshot, HostLifecycle, Logger } from "../../../core/host.ts";
import { type ReadConfig, type ReadConfigOptions, readGatewayConfig, readText } from "./read.ts";
import type { ExposeConfig } from "./expose.ts";
import type { GatewayConfig } from "./file.ts";
import { readBindAddress } from "./gateway.ts";
import { commitConfig, prepareConfig, type PreparedConfig } from "../../shared/load-config.ts";
import { snapshotOf } from "./snapshot.ts";
import type { PluginReload, PluginSet } from "../plugins/reload.ts";

/** The outcome of a reload. */
export interface ReloadOutcome {
  /** False when the new configuration was refused and the one before stays. */
  readonly applied: boolean;
  /** Keys that have changed and take effect at the next start. */
  readonly restartNeeded: readonly string[];
  /** A reason for each part that failed after it was accepted; absent when none did. */
  readonly failures?: readonly string[];
}

/** A file that was refused while the gateway ran. */
export interface ConfigRefusal {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Its problems, one line each; no secret is part of any. */
  readonly issues: readonly string[];
}

const ABANDONED = "The gateway is stopping and applies no further configuration.";
const NOT_APPLIED: ReloadOutcome = Object.freeze({ applied: false, restartNeeded: [] });

export interface GatewayConfigReloadOptions extends Omit<ReadConfigOptions, "setAside"> {
  readonly logger: Logger;
  /** The public URL that the tool of a configuration gives. */
  readonly publicUrl: (expose: ExposeConfig | undefined) => string | undefined;
  /** True: a part that refers to something missing refuses the file. */
  readonly strict?: boolean | undefined;
}

export interface ReloadOptions {
  /** Their next set is made when the block of the configuration is another one. */
  readonly plugins: PluginReload;
  /** Called after the commit, in the same turn of the event loop: no request sees one part new and another old. */
  readonly activate: (plugins: PluginSet) => void;
  /** True once the new configuration is not wanted any more: the gateway stops. */
  readonly isAbandoned: () => boolean;
}

/** Holds one configuration at a time; a new one is active everywhere or nowhere. */
export class GatewayConfigReload {
  readonly #options: GatewayConfigReloadOptions;
  #current: GatewayConfig;
  /** The text that was read last, accepted or not. */
  #text: string;
  /** Time at which the file that was read last was written. */
  #writtenAt: number | undefined;
  #refusal: ConfigRefusal | undefined;

  /** Reads the configuration. Throws a {@link ConfigError}. */
  constructor(options: GatewayConfigReloadOptions) {
    this.#options = options;
    this.#writtenAt = writtenAt(options.file);
    const read = this.#read(undefined);
    this.#current = read.config;
    this.#text = read.text;
    this.#logWarnings(read);
  }

  #read(before: GatewayConfig | undefined): ReadConfig {
    const { strict = false, ...options } = this.#options;
    return readGatewayConfig({ ...options, setAside: strict ? undefined : { before } });
  }

  get current(): GatewayConfig {
    return this.#current;
  }

  /** The refusal of the file as it is now; `undefined` when the active configuration is that of the file. */
  get refusal(): ConfigRefusal | undefined {
    return this.#refusal;
  }

  /**
   * True when the file holds something else than what was read last, was saved again, or cannot be read:
   * a plugin or a module that it names may have been mended.
   */
  hasChanged(): boolean {
    const { file } = this.#options;
    try {
      return readText(file) !== this.#text || this.#writtenAt !== writtenAt(file);
    } catch {
      return true;
    }
  }

  /** Prepares the first configuration with the plugins and commits it; rejects with their refusal. */
  async start(lifecycle: HostLifecycle): Promise<void> {
    const prepared = await prepareConfig(lifecycle, this.#snapshot(this.#current, "start"));
    commitConfig(prepared, this.#options);
  }

  /**
   * Reads the file again, prepares it with the plugins and commits it. Plugins whose block has changed are
   * loaded again, and the configuration is prepared with those. A refusal is logged and changes nothing.
   */
  async reload({ plugins, activate, isAbandoned }: ReloadOptions): Promise<ReloadOutcome> {
    try {
      // Noted first: a text that is refused for its form is not to be reported again and again.
      this.#writtenAt = writtenAt(this.#options.file);
      this.#text = readText(this.#options.file);
      const read = this.#read(this.#current);
      this.#text = read.text;
      const plan = planReload(this.#current, read.config);
      const next = await plugins.prepare(plan.config.plugins);
      const prepared = await this.#prepare(plan.config, next, { plugins, isAbandoned });
      this.#refusal = undefined;
      this.#current = plan.config;
      const useNext = (): void => {
        plugins.activate(next);
        activate(next);
      };
      const failures = commitConfig(prepared, { logger: this.#options.logger, activate: useNext }).map(reasonLine);
      this.#logWarnings(read);
      this.#logOutcome(plan.restartNeeded, failures);
      return { applied: true, restartNeeded: plan.restartNeeded, ...(failures.length > 0 && { failures }) };
    } catch (error) {
      if (!isAbandoned()) this.#logRefusal(error);
      return NOT_APPLIED;
    }
  }

  /** Rejects also when the new configuration is not wanted any more, and then the set is discarded as well. */
  async #prepare(
    config: GatewayConfig,
    next: PluginSet,
    { plugins, isAbandoned }: Pick<ReloadOptions, "plugins" | "isAbandoned">,
  ): Promise<PreparedConfig> {
    try {
      if (isAbandoned()) throw new Error(ABANDONED);
      const prepared = await prepareConfig(next.host.lifecycle, this.#snapshot(config, "reload"));
      if (isAbandoned()) throw new Error(ABANDONED);
      return prepared;
    } catch (error) {
      plugins.discard(next);
      throw error;
    }
  }

  #snapshot(config: GatewayConfig, reason: ConfigSnapshot["reason"]): ReturnType<typeof snapshotOf> {
    return snapshotOf(config, { reason, publicUrl: this.#options.publicUrl(config.gateway.expose) });
  }

  #logWarnings({ warnings }: ReadConfig): void {
    for (const warning of configLines(warnings)) this.#options.logger.warn({}, warning);
  }

  #logOutcome(restartNeeded: readonly string[], failures: readonly string[]): void {
    const { logger } = this.#options;
    if (failures.length === 0) logger.info({}, "configuration applied");
    else logger.warn({ failures }, "configuration applied, except the parts that failed");
    if (restartNeeded.length === 0) return;
    logger.warn({ keys: restartNeeded }, "some changed keys take effect at the next start");
  }

  #logRefusal(error: unknown): void {
    const message = "configuration refused; the active one stays";
    const cause = findConfigError(error);
    const issues = cause instanceof ConfigError ? configLines(cause.issues) : [reasonLine(error)];
    this.#refusal = { at: Date.now(), issues };
    if (cause instanceof ConfigError) this.#options.logger.error({ issues }, message);
    else this.#options.logger.error({ err: error }, message);
  }
}

/** `undefined` when it cannot be known; reading the file says why. */
function writtenAt(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

interface ReloadPlan {
  /** The new configuration with everything that needs a restart as it is now. */
  readonly config: GatewayConfig;
  /** Keys that have changed and take effect at the next start. */
  readonly restartNeeded: readonly string[];
}

/** What takes effect at the next start, by its key. */
const AT_NEXT_START = {
  "gateway.port": ({ gateway }: GatewayConfig) => gateway.port,
  "gateway.bind": ({ gateway }: GatewayConfig) => gateway.host,
  "telemetry.otlp": ({ telemetry }: GatewayConfig) => telemetry.otlp,
} as const;

/** Keys that take effect at the next start; all others do at once. */
export const KEYS_AT_NEXT_START = Object.keys(AT_NEXT_START) as readonly (keyof typeof AT_NEXT_START)[];

/** Compares the configuration active with the next one. */
function planReload(current: GatewayConfig, next: GatewayConfig): ReloadPlan {
  const restartNeeded = KEYS_AT_NEXT_START.filter(
    (key) => !isDeepStrictEqual(AT_NEXT_START[key](next), AT_NEXT_START[key](current)),
  );
  const { port, host } = current.gateway;
  // A token that is too short for where it will listen is refused now, and not when the gateway is started again.
  const loopbackOnly = next.gateway.loopbackOnly && readBindAddress(host)?.loopbackOnly === true;
  return {
    config: {
      ...next,
      gateway: { ...next.gateway, port, host, loopbackOnly },
      telemetry: { ...next.telemetry, otlp: current.telemetry.otlp },
    },
    restartNeeded,
  };
}
