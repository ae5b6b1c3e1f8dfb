import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import type { Preset, PresetSample } from "../../../src/presets/preset.ts";
import { HOSTILE_PAYLOADS } from "../../../src/testing/describe-reading.ts";
import { readDirectly } from "../../../src/testing/preset-probe.ts";
import { anyForm, anything, asOtherEvents, bentSample, withOneMissing } from "./hostile-payloads.ts";

/** What programs print of values that are not there. */
const LEAKS = /\bundefined\b|\bnull\b|\bNaN\b|\[object|Invalid Date/;
/** Labels of nothing, empty brackets, and words that wait for another. */
const DANGLING =
  /\s$|^\s*[:,]|[:,]$|(?<!\w)\(\)|<>|\( | \)$|(?<!Case )#(?:\s|$)|(?:^|[a-z] )(?:by|of|from|in|(?<!due |to )on|with|to):?$/;
const HEADING = /^\d+ [a-z ]+(?: (?:in|from|of) [A-Za-z ]+)?:$/;
const MAX_MESSAGE = 20_000;

const settings = { topicArns: ["arn:aws:sns:eu-central-1:123456789012:alerts"] };

/** Nothing is thrown, every text says something, and the message is one that a person would want to read. */
function expectSound(preset: Preset, sample: PresetSample): void {
  const { event, deliveryId, sender, skip, message } = readDirectly(preset, sample.payload, { sample, settings });
  for (const text of [event, deliveryId, sender?.name, sender?.id, skip]) {
    if (text === undefined) continue;
    expect(text).toMatch(/\S/);
    expect(text).not.toMatch(LEAKS);
  }
  if (sender !== undefined) expect(typeof sender.bot).toBe("boolean");
  if (preset.mapping(settings).messageTemplate !== undefined) return;
  expect(message.trim()).not.toBe("");
  expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
  expect(message).not.toMatch(LEAKS);
  const lines = message.split("\n");
  expect(lines.filter((line) => DANGLING.test(line) && !HEADING.test(line))).toEqual([]);
  expect(lines[0]).toMatch(/^\S/);
  expect(lines[0]).not.toMatch(/ {2}/);
}

describe.each(BUILT_IN_PRESETS.map((preset) => [preset.name, preset] as const))("%s", (_, preset) => {
  const samples = Object.values(preset.samples);
  const kinds = samples.flatMap((sample) => [sample, ...asOtherEvents(sample)]);

  it("reads payloads that no sender promised", () => {
    for (const payload of HOSTILE_PAYLOADS) for (const sample of kinds) expectSound(preset, { ...sample, payload });
  });

  it("reads events of other kinds with the data of its samples", () => {
    for (const sample of kinds) expectSound(preset, sample);
  });

  it("reads its samples with one part missing", () => {
    for (const sample of samples) for (const holed of withOneMissing(sample)) expectSound(preset, holed);
  });

  it("reads its samples with anything in any place of them", () => {
    fc.assert(
      fc.property(bentSample(kinds), (sample) => expectSound(preset, sample)),
      { numRuns: 300 },
    );
  });

  it("reads anything at all", () => {
    fc.assert(
      fc.property(anything, fc.constantFrom(...kinds), (payload, sample) =>
        expectSound(preset, { ...sample, payload }),
      ),
      { numRuns: 150 },
    );
  });

  it("reads forms of odd fields", () => {
    fc.assert(
      fc.property(anyForm, (payload) => expectSound(preset, { payload })),
      { numRuns: 50 },
    );
  });

  it("reads the payloads of other senders", () => {
    for (const other of BUILT_IN_PRESETS) {
      for (const { payload } of Object.values(other.samples)) expectSound(preset, { payload });
    }
  });

  it("keeps its message short, whatever it is sent", () => {
    const data = Array.from({ length: 3_000 }, (_, at) => ({ [`k${at}`]: "x".repeat(2_000) }));
    for (const payload of [data, { data }]) expectSound(preset, { payload });
  });
});

describe.each(
  BUILT_IN_PRESETS.filter(({ name }) => ["aws-sns", "cloudevents", "gmail-push", "google-pubsub"].includes(name)).map(
    (preset) => [preset.name, preset] as const,
  ),
)("what is inside the payload of %s", (_, preset) => {
  it("is read whatever it is", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const json = JSON.stringify(value);
        const data = Buffer.from(json).toString("base64");
        const payload = { message: { data }, data_base64: data, specversion: "1.0", Message: json };
        expectSound(preset, { payload });
      }),
      { numRuns: 300 },
    );
  });
});
