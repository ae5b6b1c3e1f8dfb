import type { Preset } from "./preset.ts";

/** The presets of one configuration: the built-in ones and what plugins add to them. */
export class PresetRegistry {
  readonly #presets = new Map<string, Preset>();

  /** Adds a preset; a second one of the same name throws. */
  add(preset: Preset): void {
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
}
