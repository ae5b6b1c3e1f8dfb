/** The presets that the command line knows: those of the configuration, or the built-in ones without it. */
import { BUILT_IN_PRESETS } from "../presets/built-in.ts";
import type { Preset } from "../presets/preset.ts";
import { CliError } from "./cli-error.ts";
import type { CliIo } from "./cli-io.ts";
import type { LocationOptions } from "./file-locations.ts";
import { loadConfiguration } from "./load-generation.ts";
import type { LoadedConfiguration } from "./load-generation.ts";

export interface KnownPresets {
  readonly presets: ReadonlyMap<string, Preset>;
  /** Absent when there is no configuration. */
  readonly loaded: LoadedConfiguration | undefined;
}

/** Rejects with a `ConfigError` when there is a configuration and it is not valid. */
export async function knownPresets(options: LocationOptions, io: CliIo): Promise<KnownPresets> {
  if (!io.gateway.isConfigured(options)) {
    return { presets: new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset])), loaded: undefined };
  }
  const loaded = await loadConfiguration(options, { gateway: io.gateway, logger: io.createLogger() });
  return { presets: loaded.active.presets, loaded };
}

/** The preset of that name, or an error that says which there are. */
export function presetNamed(presets: ReadonlyMap<string, Preset>, name: string): Preset {
  const preset = presets.get(name);
  if (preset) return preset;
  throw new CliError(`There is no preset "${name}". There are: ${[...presets.keys()].toSorted().join(", ")}.`);
}
