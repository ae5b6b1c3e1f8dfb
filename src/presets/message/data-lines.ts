import { clip, itemLines, labeled } from "../../core/payload-text.ts";
import { asJson } from "./as-json.ts";

const MAX_VALUE = 1_000;

/**
 * Data nobody has words for as lines: one `key: value` for each key that holds anything (nested values as
 * compact JSON without what is empty), one line for each item of an array, a text as it is.
 */
export function dataLines(data: unknown, limit = 20): readonly string[] {
  const lines = linesOf(data).filter((line) => line !== "");
  return itemLines(lines, String, limit);
}

/** An object without some of its keys; anything else as it is. */
export function withoutKeys(data: unknown, ...names: readonly string[]): unknown {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([key]) => !names.includes(key)));
}

function linesOf(data: unknown): readonly string[] {
  if (typeof data !== "object" || data === null) return [valueText(data)];
  if (Array.isArray(data)) return data.map(valueText);
  return Object.entries(data).map(([key, value]) => labeled(clip(key.trim(), MAX_VALUE), valueText(value)));
}

function valueText(value: unknown): string {
  return clip(typeof value === "string" ? value.trim() : asJson(value), MAX_VALUE);
}
