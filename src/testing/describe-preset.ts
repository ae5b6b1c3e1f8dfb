import { describe, expect, it } from "vitest";
import type { PresetSettings } from "../config/preset.ts";
import type { Preset } from "../presets/preset.ts";
import { describeForm } from "./describe-form.ts";
import { describeReading } from "./describe-reading.ts";
import { describeSigning } from "./describe-signing.ts";

/** The parts that a preset needs to be tried. */
export interface DescribePresetOptions {
  /** Values for the settings that it requires. */
  readonly settings?: PresetSettings;
}

/**
 * Holds a preset to what the ingress and its users rely on: its data is valid, its samples are read,
 * signed, verified and described in words, copies and forgeries are recognized, and no payload makes it
 * fail. To be called in a vitest file; `vitest` is a peer of this module alone.
 */
export function describePreset(preset: Preset, { settings = {} }: DescribePresetOptions = {}): void {
  describe(`the preset ${preset.name}`, () => {
    it("is one that definePreset made", () => {
      expect(Object.isFrozen(preset)).toBe(true);
    });
    describeForm(preset, settings);
    describeReading(preset, settings);
    describeSigning(preset, settings);
  });
}
