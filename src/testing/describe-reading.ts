import { expect, it } from "vitest";
import type { PresetSettings } from "../config/preset.ts";
import { type Preset, type PresetSample, sampleBody } from "../presets/preset.ts";
import { makePresetKeys, readDirectly, readPayload, readSample, signSample } from "./preset-probe.ts";

/** Payloads that no sender promised: every one of them may arrive with a good signature. */
export const HOSTILE_PAYLOADS: readonly unknown[] = [
  {},
  [],
  [null],
  [[]],
  [{}],
  { type: null, event: null, action: {}, data: null },
  { type: 1, event: [], action: true, data: "text", payload: 7, object: [] },
  { event: { type: {} }, data: { object: null, id: {} }, message: { from: null, data: "%%%" }, sender: [] },
  { repository: null, sender: 1, commits: {}, alerts: {}, entry: [{ changes: null }, null], messages: "none" },
  { payload: "{not json", Message: "{", body: "\u0000\uD800", text: "x".repeat(50_000) },
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"toString":"x","hasOwnProperty":1}'),
];

/** A value that was printed although it is not there, and a label or bracket around nothing. */
const EMPTY_FIELD = /\bundefined\b|\bnull\b|\bNaN\b|\[object \w+\]|\(\s*\)|\[\s*\]|""|(?:^|\s)[:,](?:\s|$)/u;
const MAX_MESSAGE = 20_000;

/** The preset's reading of its samples and of unexpected payloads. */
export function describeReading(preset: Preset, settings: PresetSettings): void {
  const { accept = ["json"], maxBodyBytes = 262_144, messageTemplate } = preset.mapping(settings);
  const ownMessage = messageTemplate === undefined;

  for (const [name, sample] of Object.entries(preset.samples)) {
    it(`reads the sample ${name}`, () => {
      const { body } = sampleBody(sample);
      expect(body.length).toBeLessThanOrEqual(maxBodyBytes);
      expect([...accept, "json"]).toContain(sample.format ?? "json");
      const reading = readSample(preset, sample, settings);
      expect(reading.answer?.status ?? 200).toBeOneOf([200, 201, 202, 203, 204]);
      if (ownMessage && reading.skip === undefined) expectReadable(reading.message);
      expect(readSample(preset, sample, settings)).toEqual(reading);
    });
  }

  it("finds event and delivery id in a sample at least, if it says where they are", () => {
    const readings = signedSamples(preset, settings).map((sample) => readSample(preset, sample, settings));
    const found = (values: readonly (string | undefined)[]): boolean => values.some((value) => value !== undefined);
    expect(found(readings.map(({ event }) => event))).toBe(preset.eventSource !== undefined);
    expect(found(readings.map(({ deliveryId }) => deliveryId))).toBe(preset.deliveryIdSource !== undefined);
  });

  it("has a sample that is for an agent", () => {
    const skips = Object.values(preset.samples).map((sample) => readSample(preset, sample, settings).skip);
    expect(skips).toContain(undefined);
  });

  it("fails at no payload, however odd, and never prints what is not there", () => {
    for (const sample of Object.values(preset.samples)) {
      for (const payload of [...HOSTILE_PAYLOADS, ...brokenCopies(sample.payload)]) {
        // The ingress catches what a preset throws; here it has to show.
        expect(() => readDirectly(preset, payload, { sample, settings })).not.toThrow();
        const { message } = readPayload(preset, payload, { sample, settings });
        if (ownMessage) expect(message).not.toMatch(/\bundefined\b|\[object \w+\]|\bNaN\b/u);
        expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
      }
    }
  });
}

/** The samples with the headers that signing adds: the delivery's id may be one of them. */
function signedSamples(preset: Preset, settings: PresetSettings): readonly PresetSample[] {
  const keys = makePresetKeys(preset.auth(settings));
  return Object.values(preset.samples).map((sample) => {
    if (keys === undefined) return sample;
    const { headers } = signSample(preset, sample, { settings, secrets: keys.secrets, key: keys.key });
    return { ...sample, headers: { ...sample.headers, ...headers } };
  });
}

/** A text for people has no hole in it. */
function expectReadable(message: string): void {
  expect(message.trim()).not.toBe("");
  expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
  const [headline = ""] = message.split("\n");
  expect(headline).not.toMatch(EMPTY_FIELD);
  for (const line of message.split("\n")) expect(line).toBe(line.trimEnd());
}

/** The payload once for each of its keys at the first two levels, with something else in its place. */
function brokenCopies(payload: unknown): unknown[] {
  if (typeof payload !== "object" || payload === null) return [];
  return Object.entries(payload).flatMap(([key, value]) => {
    const replaced = [null, 7, "text", [], {}, [null]].map((other) => ({ ...payload, [key]: other }));
    const nested = brokenOnce(value).map((broken) => ({ ...payload, [key]: broken }));
    return [...replaced, ...nested];
  });
}

function brokenOnce(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => [null, {}, [], 7].map((other) => ({ ...value, [key]: other })));
}
