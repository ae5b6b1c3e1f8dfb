import { readAuthSecrets } from "./auth-secrets.ts";
import type { AuthSources, ResolvedSecrets } from "./auth-secrets.ts";
import type { Findings } from "./findings.ts";
import { GMAIL } from "./gmail-schema.ts";
import type { GmailConfig, PresetSettings } from "./hooks-config.ts";
import type { PresetBlockInput } from "./preset-block-schema.ts";
import type { PresetPart } from "./preset-part.ts";
import { resolveSettings } from "./preset-settings.ts";
import type { UsablePart } from "./usable-part.ts";

/** A preset as `hooks.<preset>` sets it. */
export interface ConfiguredPreset {
  readonly part: PresetPart;
  /** What is written in `hooks.<preset>`. */
  readonly block: PresetBlockInput;
  /** What `hooks.<preset>` says of the preset's own settings, secrets resolved; not yet held to their schema. */
  readonly settings: PresetSettings;
  /** What `hooks.<preset>` says, resolved. */
  readonly secrets: ResolvedSecrets;
  /** False when the block is not what its schema says, so that nothing more can be told about it. */
  readonly isSound: boolean;
}

export interface ConfiguredPresetsOptions {
  readonly parts: ReadonlyMap<string, PresetPart>;
  readonly written: UsablePart;
  readonly gmail: GmailConfig;
  readonly sources: AuthSources;
  readonly findings: Findings;
}

/** The presets of a configuration: each is looked up, and its secrets resolved, when something first uses it. */
export class ConfiguredPresets {
  readonly #options: ConfiguredPresetsOptions;
  readonly #used = new Map<string, ConfiguredPreset>();

  constructor(options: ConfiguredPresetsOptions) {
    this.#options = options;
  }

  /** Every name there is. */
  names(): readonly string[] {
    return [...this.#options.parts.keys()];
  }

  get(name: string): ConfiguredPreset | undefined {
    const part = this.#options.parts.get(name);
    if (part === undefined) return undefined;
    let preset = this.#used.get(name);
    if (!preset) this.#used.set(name, (preset = this.#configure(part)));
    return preset;
  }

  /** Warns of blocks that nothing has used so far. */
  warnOfUnused(): void {
    const { parts, written, findings } = this.#options;
    for (const name of parts.keys()) {
      if (this.#used.has(name) || written.block(name) === undefined) continue;
      findings.warn(
        `hooks.${name}`,
        `has no effect: add "${name}" to hooks.presets, or name it as the preset of a mapping`,
      );
    }
  }

  #configure(part: PresetPart): ConfiguredPreset {
    const { written, gmail, sources, findings } = this.#options;
    const isSound = written.isSound(part.name);
    if (part.name === GMAIL) {
      return { part, block: {}, settings: { ...gmail }, secrets: { key: undefined, values: [] }, isSound };
    }
    const block = written.block(part.name) ?? {};
    const where = `hooks.${part.name}`;
    return {
      part,
      block,
      settings: resolveSettings(part, block, { where, sources, findings }),
      secrets: readAuthSecrets(block, where, sources, findings),
      isSound,
    };
  }
}
