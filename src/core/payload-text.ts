import { compilePath, lookup } from "./payload-path.ts";
import type { CompiledPath } from "./payload-path.ts";

const MAX_VALUE = 4_000;
const MAX_MESSAGE = 20_000;

/** The paths come from the code of presets, so their number is bounded; past this one each is compiled again. */
const MAX_COMPILED = 4_096;
const compiled = new Map<string, CompiledPath>();

/** The value under a path such as `pull_request.user.login` or `alerts[0].labels`; own properties only. `""` is all of it. */
export function valueAt(payload: unknown, path: string): unknown {
  const known = compiled.get(path);
  const steps = known ?? compilePath(path);
  if (!known && compiled.size < MAX_COMPILED) compiled.set(path, steps);
  return lookup(payload, steps);
}

/**
 * The own member of an object under a key that comes from the payload itself. Not for `valueAt`, which
 * keeps every path it has ever seen, and would read a key with a dot as two.
 */
export function memberOf(members: unknown, key: string): unknown {
  const isThere = typeof members === "object" && members !== null && Object.hasOwn(members, key);
  return isThere ? (members as Readonly<Record<string, unknown>>)[key] : undefined;
}

/**
 * The text under the first of the paths where there is one: a string that is not blank (trimmed, cut to
 * 4,000 characters), a number or a boolean; `""` otherwise.
 */
export function textAt(payload: unknown, ...paths: readonly string[]): string {
  for (const path of paths) {
    const text = asText(valueAt(payload, path));
    if (text !== "") return text;
  }
  return "";
}

/** The string under a path as it is, of any length; `""` where there is none. */
export function wholeTextAt(payload: unknown, path: string): string {
  const value = valueAt(payload, path);
  return typeof value === "string" ? value : "";
}

/** The array under a path; empty when there is none. */
export function listAt(payload: unknown, path: string): readonly unknown[] {
  const value = valueAt(payload, path);
  return Array.isArray(value) ? value : [];
}

/** Cuts a text to a length, with an ellipsis instead of the rest; never splits a character. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = text.slice(0, Math.max(0, length - 1));
  const last = end.charCodeAt(end.length - 1);
  return `${last >= 0xd800 && last <= 0xdbff ? end.slice(0, -1) : end}…`;
}

/** `Label: text`; the text alone without a label, nothing without a text. */
export function labeled(label: string, text: string): string {
  return text === "" ? "" : joinText(": ", label, text);
}

/** Joins the parts that are not empty. */
export function joinText(separator: string, ...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(separator);
}

/** Lines of a message; empty ones vanish. */
export type MessageLines = readonly (string | readonly string[])[];

/** The lines that are not empty, as one message of at most 20,000 characters. */
export function messageOf(...lines: MessageLines): string {
  return clip(joinText("\n", ...lines.flat()), MAX_MESSAGE);
}

/** One line for each item, up to `limit`; the rest are counted. */
export function itemLines(items: readonly unknown[], line: (item: unknown) => string, limit = 20): readonly string[] {
  const lines = items.slice(0, limit).map(line);
  if (items.length > limit) lines.push(`... and ${items.length - limit} more`);
  return lines;
}

function asText(value: unknown): string {
  if (typeof value === "string") return clip(value.trim(), MAX_VALUE);
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)) ? String(value) : "";
}
