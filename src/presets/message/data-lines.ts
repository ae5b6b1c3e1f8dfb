import { clip, itemLines, labeled } from "../../core/payload-text.ts";

const MAX_JSON = 2_000;
const MAX_VALUES = 300;
const MAX_DEPTH = 16;

/**
 * Data without a wording of its own, as compact JSON of at most 2,000 characters: without nulls, blank texts, empty
 * values and the keys that `isNoise` names. `""` when nothing is left. However large the data is, only its
 * first 300 values are looked at.
 */
export function asJson(data: unknown, isNoise: (key: string) => boolean = () => false): string {
  let values = 0;
  const prune = (value: unknown, depth: number): unknown => {
    if (++values > MAX_VALUES || value === null) return undefined;
    if (typeof value === "string") return clip(value.trim(), MAX_JSON) || undefined;
    if (typeof value !== "object") return typeof value === "boolean" || typeof value === "number" ? value : undefined;
    if (depth >= MAX_DEPTH) return undefined;
    const kept = Array.isArray(value) ? pruneItems(value, depth) : pruneKeys(value, depth);
    return Object.keys(kept).length === 0 ? undefined : kept;
  };
  const pruneItems = (items: readonly unknown[], depth: number): unknown[] =>
    items
      .slice(0, MAX_VALUES)
      .map((item) => prune(item, depth + 1))
      .filter((item) => item !== undefined);
  const pruneKeys = (object: object, depth: number): Record<string, unknown> => {
    const kept: [string, unknown][] = [];
    for (const [key, value] of Object.entries(object)) {
      if (values >= MAX_VALUES) break;
      const pruned = isNoise(key) ? undefined : prune(value, depth + 1);
      if (pruned !== undefined) kept.push([key, pruned]);
    }
    return Object.fromEntries(kept);
  };
  const pruned = prune(data, 0);
  return pruned === undefined ? "" : clip(JSON.stringify(pruned), MAX_JSON);
}

const MAX_VALUE = 1_000;

/**
 * Data without a wording of its own, as lines: one `key: value` for each key that holds anything (nested values as
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
