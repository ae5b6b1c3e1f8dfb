/** Makes a configuration ready without starting a gateway. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NO_KEYS } from "../auth/keys/remote-keys.ts";
import type { ConfigIssue } from "../config/errors.ts";
import { findConfigError } from "../config/errors.ts";
import { prepareActiveConfig } from "../ingress/active-config.ts";
import type { ActiveConfig } from "../ingress/active-config.ts";
import type { ConfigSnapshot } from "../core/host.ts";
import type { CliGateway, OpenedConfiguration, OpenOptions } from "./gateway.ts";
import type { LocationOptions } from "./file-locations.ts";

export interface LoadOptions extends OpenOptions {
  readonly gateway: CliGateway;
  /** True: no mapping is set aside. */
  readonly strict?: boolean | undefined;
  /** Aborted when the command is interrupted. */
  readonly signal?: AbortSignal;
}

/** A valid configuration, and what was compiled from it. */
export interface LoadedConfiguration {
  /** The `hooks` block as it is written, before variables are replaced; holds secrets. */
  readonly hooksWritten: unknown;
  /** Warnings about parts that work, besides the `hooks` block. */
  readonly warnings: readonly ConfigIssue[];
  readonly snapshot: Omit<ConfigSnapshot, "onCommit">;
  /** Its transforms have been loaded and are closed again: nothing of it runs any more. */
  readonly active: ActiveConfig;
}

/**
 * Goes the way of a start up to the point where anything would be opened: the configuration, the plugins,
 * and the `hooks` block with its presets and transforms. Rejects with a `ConfigError`.
 */
export async function loadConfiguration(options: LocationOptions, load: LoadOptions): Promise<LoadedConfiguration> {
  const opened = await load.gateway.open(options, load);
  try {
    // As in a gateway: what another plugin refuses starts no process.
    await opened.prepare();
    const { hooksWritten, warnings, snapshot } = opened;
    return { hooksWritten, warnings, snapshot, active: await loadOnce(opened, load) };
  } catch (error) {
    throw findConfigError(error) ?? error;
  } finally {
    await opened.close();
  }
}

/** The active configuration, whose transforms have been loaded and are closed again. */
async function loadOnce(
  { snapshot, host, hooks }: OpenedConfiguration,
  { signal, strict }: Pick<LoadOptions, "signal" | "strict">,
): Promise<ActiveConfig> {
  signal?.throwIfAborted();
  const workDir = mkdtempSync(join(tmpdir(), "reveille-check-"));
  try {
    const options = { host, hooks, signal, strict, keys: NO_KEYS, workDir, previous: undefined };
    const active = await prepareActiveConfig(snapshot, options);
    await active.transforms.close();
    return active;
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}
