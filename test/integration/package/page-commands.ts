import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const docs = resolve(import.meta.dirname, "../../../docs");

/** The indented lines in a section of a page: its commands. */
export function commandsOf(page: string, heading: string): readonly string[] {
  const [, section = ""] = readFileSync(resolve(docs, page), "utf8").split(`\n## ${heading}\n`);
  const lines = section.split(/\n## /u, 1)[0]!.split("\n");
  return lines.filter((line) => line.startsWith("    ")).map((line) => line.trim());
}
