import { expect, it } from "vitest";
import type { PresetSettings } from "../../../src/config/preset.ts";
import type { Preset } from "../../../src/presets/preset.ts";
import { readSample } from "../../../src/testing/preset-probe.ts";
import type { Reading } from "../../../src/testing/preset-probe.ts";

/** What is expected of a sample: the lines of its message, and whatever else there is. */
export type ExpectedReading = Partial<Omit<Reading, "message">> & { readonly message: readonly string[] };

/** One test for each sample, and one that says that none is left out. */
export function itReadsSamples(
  preset: Preset,
  expected: Readonly<Record<string, ExpectedReading>>,
  settings: PresetSettings = {},
): void {
  it.each(Object.entries(expected))("reads the sample %s", (name, { message, ...rest }) => {
    const none = { event: undefined, deliveryId: undefined, sender: undefined, skip: undefined, answer: undefined };
    expect(readSample(preset, preset.samples[name]!, settings)).toEqual({
      ...none,
      ...rest,
      message: message.join("\n"),
    });
  });

  it("says of every sample what is read of it", () => {
    expect(Object.keys(expected)).toEqual(Object.keys(preset.samples));
  });
}
