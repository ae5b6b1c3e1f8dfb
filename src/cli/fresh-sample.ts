/** A sample under an id of its own, so that the gateway does not take it for a copy of an earlier one. */
import { randomInt } from "node:crypto";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { parsePayload } from "../http/parse-payload.ts";
import { type Preset, type PresetSample, sampleBody } from "../presets/preset.ts";
import { readEvent } from "../presets/read-event.ts";

/** One value of a sample, and the sample with another in its place. */
interface Leaf {
  readonly key: string;
  readonly value: string | number;
  readonly replaced: (value: string | number) => PresetSample;
}

type Replace = (value: unknown) => PresetSample;

/**
 * The sample with another delivery id, where its sender gives one; event and outcome stay the same.
 * JSON also gets blanks at its end: where the id is not signed, the signed content identifies a copy.
 */
export function freshSample(preset: Preset, sample: PresetSample, settings: MappingConfig["settings"]): PresetSample {
  return withBlanks(withFreshId(preset, sample, settings));
}

function withFreshId(preset: Preset, sample: PresetSample, settings: MappingConfig["settings"]): PresetSample {
  const before = read(preset, sample, settings);
  if (before.deliveryId === undefined) return sample;
  const leaves = [...leavesOf(sample)].toSorted((left, right) => rankOf(left.key) - rankOf(right.key));
  for (const { value, replaced } of leaves) {
    const fresh = replaced(typeof value === "number" ? freshNumber(value) : freshText(value));
    const after = read(preset, fresh, settings);
    const isOther = after.deliveryId !== undefined && after.deliveryId !== before.deliveryId;
    if (isOther && after.event === before.event && after.skip === before.skip) return fresh;
  }
  return sample;
}

function read(preset: Preset, sample: PresetSample, settings: MappingConfig["settings"]) {
  const { body, contentType } = sampleBody(sample);
  const parsed = parsePayload(body, contentType, { accept: ["json", "form", "text"] });
  const payload = parsed.ok ? parsed.payload : sample.payload;
  const headers = { "content-type": contentType, ...sample.headers };
  const given = { path: preset.name, headers, query: sample.query ?? {}, payload, now: new Date(0) };
  const { context, deliveryId, skip } = readEvent(preset, given, settings);
  return { event: context.event, deliveryId, skip };
}

/** Names that look like an id come first, and a time last. */
function rankOf(key: string): number {
  if (/id$|uuid|key$/iu.test(key)) return 0;
  return /time|_at$|_ts$|date/iu.test(key) ? 2 : 1;
}

function* leavesOf(sample: PresetSample): Generator<Leaf> {
  for (const part of ["headers", "query"] as const) {
    for (const [key, value] of Object.entries(sample[part] ?? {})) {
      if (key === "content-type") continue;
      yield { key, value, replaced: (next) => ({ ...sample, [part]: { ...sample[part], [key]: String(next) } }) };
    }
  }
  yield* leavesBelow("", sample.payload, (payload) => ({ ...sample, payload }));
}

function* leavesBelow(key: string, value: unknown, replace: Replace): Generator<Leaf> {
  if (typeof value === "number") yield { key, value, replaced: replace };
  if (typeof value === "string") {
    const inner = jsonIn(value);
    if (inner === undefined) yield { key, value, replaced: replace };
    else yield* leavesBelow(key, inner, (next) => replace(JSON.stringify(next)));
  }
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) yield* leavesBelow(key, item, (next) => replace(value.with(at, next)));
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      yield* leavesBelow(name, item, (next) => replace({ ...value, [name]: next }));
    }
  }
}

/** Some senders write JSON into a field of a form, or send it as text. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/u.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** As many digits, so that a sender's limits on its own ids hold. */
function freshNumber(value: number): number {
  const digits = Math.min(14, Math.max(6, String(Math.trunc(Math.abs(value))).length));
  return randomInt(10 ** (digits - 1), 10 ** digits);
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T/u;
const RENEWED_CHARS = 12;

/** The last letters and digits are drawn again, each from its own kind; a time becomes the present one. */
function freshText(value: string): string {
  if (ISO_TIME.test(value)) return new Date().toISOString();
  const isHex = /^[0-9a-f-]+$/iu.test(value);
  let left = RENEWED_CHARS;
  const renewed = Array.from(value)
    .toReversed()
    .map((char) => (left > 0 && /[0-9A-Za-z]/u.test(char) ? (left--, drawn(char, isHex)) : char));
  return renewed.toReversed().join("");
}

function drawn(char: string, isHex: boolean): string {
  if (/\d/u.test(char)) return String(randomInt(10));
  const letter = String.fromCharCode(97 + randomInt(isHex ? 6 : 26));
  return char === char.toLowerCase() ? letter : letter.toUpperCase();
}

const BLANKS = 32;

function withBlanks(sample: PresetSample): PresetSample {
  const { body, contentType } = sampleBody(sample);
  const text = Buffer.from(body).toString();
  if (sample.format === "form" || jsonIn(text) === undefined) return sample;
  const blanks = Array.from({ length: BLANKS }, () => (randomInt(2) === 0 ? " " : "\n")).join("");
  return {
    ...sample,
    format: "text",
    payload: text + blanks,
    headers: { ...sample.headers, "content-type": contentType },
  };
}
