/** The part of a configuration that a transform is tried with, read without loading any transform. */
import type { HooksConfig } from "../../config/hooks-config.ts";
import { readSnapshot } from "../../ingress/active-config.ts";
import type { IngressHooks } from "../../ingress/hooks.ts";
import type { GatewayHost } from "../../core/host.ts";
import type { Preset } from "../../presets/preset.ts";
import type { Logger } from "../../core/host.ts";
import type { CliIo } from "../cli-io.ts";
import type { LocationOptions } from "../file-locations.ts";

export interface TransformConfiguration {
  readonly config: HooksConfig;
  /** With what the plugins of the configuration have tapped. */
  readonly hooks: IngressHooks;
  readonly presets: ReadonlyMap<string, Preset>;
  readonly host: GatewayHost;
  /** Shuts its plugins down; to be called when it is of no use any more. */
  readonly close: () => Promise<void>;
}

/**
 * Reads the file, applies its plugins and judges its `hooks` block. Whatever is wrong with a module of
 * another mapping does not matter here. Rejects with a `ConfigError`.
 */
export async function readTransformConfiguration(
  options: LocationOptions,
  { io, logger }: { io: Pick<CliIo, "gateway" | "env">; logger: Logger },
): Promise<TransformConfiguration> {
  const { host, hooks, snapshot, close } = await io.gateway.open(options, { logger });
  try {
    const { config, presets } = await readSnapshot(snapshot, { host, hooks, env: io.env });
    return { config, hooks, presets, host, close };
  } catch (error) {
    await close();
    throw error;
  }
}
