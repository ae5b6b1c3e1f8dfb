import type { KeptPresets, MissingPresets } from "../config/missing-presets.ts";
import type { Preset } from "./preset.ts";

/** The presets of one configuration: the built-in ones and what plugins add to them. */
export class PresetRegistry {
  readonly #presets = new Map<string, Preset>();
  readonly #missing: MissingPresets[] = [];
  readonly #kept: KeptPresets[] = [];

  /** Adds a preset; a second one of the same name throws, and so does what is only the definition of one. */
  add(preset: Preset): void {
    if (typeof preset.mapping !== "function" || typeof preset.eventOf !== "function") {
      throw new TypeError(`"${preset.name}" is no preset yet: add what definePreset makes of it.`);
    }
    if (this.#presets.has(preset.name)) {
      throw new Error(`A preset named "${preset.name}" is already there.`);
    }
    this.#presets.set(preset.name, preset);
  }

  get(name: string): Preset | undefined {
    return this.#presets.get(name);
  }

  /** All of them by name. */
  all(): ReadonlyMap<string, Preset> {
    return this.#presets;
  }

  /** Records that a module or plugin failed to load: what names one of its presets is set aside. */
  miss(source: MissingPresets): void {
    this.#missing.push(source);
  }

  /** Records that presets are still those of the version before. */
  keep(source: KeptPresets): void {
    this.#kept.push(source);
  }

  get missing(): readonly MissingPresets[] {
    return this.#missing;
  }

  get kept(): readonly KeptPresets[] {
    return this.#kept;
  }
}
