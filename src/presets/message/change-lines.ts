import { itemLines, joinText, labeled, memberOf } from "../../core/payload-text.ts";
import { asJson } from "./data-lines.ts";
import { lineAt, words } from "./headline.ts";
import { timeText } from "./value-text.ts";

const MAX_CHANGES = 10;

/**
 * One line for each attribute whose former value the sender gives: `Changed plan: basic, now team`. `previous`
 * holds the former values by key, `object` the present ones.
 */
export function changeLines(previous: unknown, object: unknown): readonly string[] {
  if (typeof previous !== "object" || previous === null || Array.isArray(previous)) return [];
  return itemLines(Object.keys(previous), (item) => changeLine(String(item), previous, object), MAX_CHANGES);
}

function changeLine(key: string, previous: unknown, object: unknown): string {
  const [before, now] = [attributeText(memberOf(previous, key)), attributeText(memberOf(object, key))];
  return labeled(`Changed ${words(key)}`, joinText(", now ", before, now));
}

/** Times are numbers, as amounts and counts are: seconds from 2001 to 2096 count as a time. */
const [MIN_TIME, MAX_TIME] = [1_000_000_000, 4_000_000_000];

function attributeText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "number" && value >= MIN_TIME && value < MAX_TIME) return timeText(value);
  if (typeof value === "object") return asJson(value) || "empty";
  return lineAt(value, "") || "empty";
}
