import { describe, expect, it } from "vitest";
import { freshSample } from "../../../src/cli/fresh-sample.ts";
import { sampleBody } from "../../../src/presets/preset.ts";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import { readSample } from "../../../src/testing/preset-probe.ts";

const bytesOf = (sample: Parameters<typeof sampleBody>[0]): string => Buffer.from(sampleBody(sample).body).toString();

describe("a fresh sample", () => {
  for (const preset of BUILT_IN_PRESETS) {
    for (const [name, sample] of Object.entries(preset.samples)) {
      it(`of ${preset.name}, ${name}, is the same event under another id`, () => {
        const settings = {};
        const before = readSample(preset, sample, settings);
        const [first, second] = [freshSample(preset, sample, settings), freshSample(preset, sample, settings)];
        const after = readSample(preset, first, settings);
        expect([after.event, after.skip]).toEqual([before.event, before.skip]);
        if (before.deliveryId !== undefined) {
          const ids = [before, after, readSample(preset, second, settings)].map(({ deliveryId }) => deliveryId);
          expect(new Set(ids).size).toBe(3);
        }
        if (/^[[{]/u.test(bytesOf(sample))) expect(bytesOf(first)).not.toBe(bytesOf(second));
        expect(sampleBody(first).contentType).toBe(sampleBody(sample).contentType);
      });
    }
  }
});
