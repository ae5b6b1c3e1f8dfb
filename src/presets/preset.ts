/** A preset: what a sender's requests look like and what to make of them. */
import type { GmailConfig, MappingConfig } from "../config/hooks-config.ts";

export interface Preset {
  /** Lower-case name by which `hooks.presets` enables it. */
  readonly name: string;
  /** The mappings it brings; they come after the operator's own. */
  mappings(options: PresetOptions): readonly MappingConfig[];
}

/** What of the configuration a preset may depend on. */
export interface PresetOptions {
  readonly gmail: GmailConfig;
}
