import type { MigrationNote, NoteKind } from "../../hosts/openclaw/migrate/notes.ts";
import type { Fields } from "../../hosts/openclaw/fields.ts";
import { printable } from "../terminal-text.ts";

/** The result of the command; holds no secret. */
export interface AdoptReport {
  readonly outcome: "adopted" | "nothing" | "refused";
  /** OpenClaw's configuration, absolute. */
  readonly file: string;
  readonly dryRun: boolean;
  /** The copy of the file as it was; absent when nothing was written. */
  readonly backup?: string;
  /** Why there is nothing to do, or why nothing may be written. */
  readonly reasons: readonly string[];
  readonly notes: readonly MigrationNote[];
  /** The written values, by their keys; secrets are hidden. */
  readonly written?: Fields;
}

const HEADINGS: readonly (readonly [NoteKind, string])[] = [
  ["written", "What is written"],
  ["lost", "What is not carried over"],
  ["behavior", "What callers and agents notice"],
  ["todo", "What remains to do"],
];

/** The report for people. */
export function adoptText(report: AdoptReport): string {
  const { outcome, file, dryRun, reasons } = report;
  if (outcome === "nothing") return lines([`${file}: nothing was written.`, ...reasons]);
  if (outcome === "refused") {
    return lines([`${file}: nothing was written, because the block cannot be adopted as it is.`, ...reasons.map(item)]);
  }
  const blocks = JSON.stringify(report.written, null, 2).split("\n");
  return lines([
    dryRun ? `${file}: would be adopted; nothing was written.` : `${file}: adopted. As it was: ${report.backup}`,
    ...noteSections(report.notes),
    "",
    dryRun ? "The new keys would be:" : "The new keys:",
    ...blocks,
  ]);
}

/** The notes under a heading for each kind; each note of a kind is one line. */
export function noteSections(notes: readonly MigrationNote[]): readonly string[] {
  return HEADINGS.flatMap(([kind, heading]) => {
    const ofKind = notes.filter((note) => note.kind === kind);
    return ofKind.length === 0 ? [] : ["", `${heading}:`, ...groupNotes(ofKind).map(item)];
  });
}

/** One line for each text, with every key that it is about. */
function groupNotes(notes: readonly MigrationNote[]): readonly string[] {
  const byText = Map.groupBy(notes, ({ text }) => text);
  return [...byText].map(([text, same]) => {
    const paths = same.flatMap(({ path }) => path ?? []);
    return paths.length === 0 ? text : `${joinPaths(paths)}: ${text}`;
  });
}

/** `hooks.mappings[1].transform, hooks.mappings[2].transform` is `hooks.mappings[1-2].transform`. */
function joinPaths(paths: readonly string[]): string {
  const places = new Map<string, number[]>();
  for (const path of new Set(paths)) {
    const [, before, place, after] = /^([^[]*mappings\[)(\d+)(\].*)$/.exec(path) ?? [];
    const pattern = place === undefined ? path : `${before}\0${after}`;
    places.set(pattern, [...(places.get(pattern) ?? []), ...(place === undefined ? [] : [Number(place)])]);
  }
  return [...places].map(([pattern, at]) => pattern.replace("\0", ranges(at))).join(", ");
}

/** `1-3, 7`, of numbers in their order. */
function ranges(numbers: readonly number[]): string {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}

function item(text: string): string {
  return `  - ${text}`;
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${printable(text)}\n`).join("");
}
