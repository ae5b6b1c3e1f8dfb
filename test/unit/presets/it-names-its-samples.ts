import { expect, it } from "vitest";
import type { Preset, PresetSample } from "../../../src/presets/preset.ts";
import { readSample } from "../../../src/testing/preset-probe.ts";

/** One test for each sample, which is called as its event is, of a sender that names no person and wants no answer. */
export function itNamesItsSamples(preset: Preset, deliveryId: (sample: PresetSample) => unknown): void {
  it.each(Object.entries(preset.samples))("names the event and the id of its sample %s", (name, sample) => {
    const { message: _, ...reading } = readSample(preset, sample);
    expect(reading).toEqual({
      event: name,
      deliveryId: deliveryId(sample),
      sender: undefined,
      skip: undefined,
      answer: undefined,
    });
  });
}
