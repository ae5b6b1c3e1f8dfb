/**
 * Removes the declarations that no export of the package reaches, and the comments of those that no one can import by
 * name: run after `tsc -p tsconfig.build.json`, which writes one for each file that it reads.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const dist = resolve(import.meta.dirname, "../dist");
/** What `exports` of package.json names. */
const ENTRIES = ["index.d.ts", "testing/describe-preset.d.ts"];
const RELATIVE = /(?:\bfrom|\bimport\()\s*"(?<path>\.{1,2}\/[^"]+)\.(?:ts|js)"/gu;

/** A comment on lines of its own. */
const COMMENT = /^[ \t]*\/\*\*.*?\*\/[ \t]*\n/gmsu;

/** What the declarations of a file import and export from. */
function neighbors(file: string): string[] {
  const found = readFileSync(file, "utf8").matchAll(RELATIVE);
  return Array.from(found, ({ groups }) => join(dirname(file), `${groups!["path"]}.d.ts`));
}

function reach(file: string, reached: Set<string>): void {
  if (reached.has(file)) return;
  reached.add(file);
  for (const neighbor of neighbors(file)) reach(neighbor, reached);
}

const entries = ENTRIES.map((entry) => join(dist, entry));
const named = new Set([...entries, ...entries.flatMap(neighbors)]);
const reached = new Set<string>();
for (const entry of entries) reach(entry, reached);
for (const path of globSync("**/*.d.ts", { cwd: dist })) {
  const file = join(dist, path);
  if (!reached.has(file)) rmSync(file);
  else if (!named.has(file)) writeFileSync(file, readFileSync(file, "utf8").replaceAll(COMMENT, ""));
}
