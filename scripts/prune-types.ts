/**
 * Removes the declarations that no export of the package reaches: run after `tsc -p tsconfig.build.json`, which
 * writes one for each file that it reads.
 */
import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const dist = resolve(import.meta.dirname, "../dist");
/** What `exports` of package.json names. */
const ENTRIES = ["index.d.ts", "testing/describe-preset.d.ts"];
const RELATIVE = /(?:\bfrom|\bimport\()\s*"(?<path>\.{1,2}\/[^"]+)\.(?:ts|js)"/gu;

function reach(file: string, reached: Set<string>): void {
  if (reached.has(file)) return;
  reached.add(file);
  for (const { groups } of readFileSync(file, "utf8").matchAll(RELATIVE)) {
    reach(join(dirname(file), `${groups!["path"]}.d.ts`), reached);
  }
}

const reached = new Set<string>();
for (const entry of ENTRIES) reach(join(dist, entry), reached);
for (const file of globSync("**/*.d.ts", { cwd: dist })) if (!reached.has(join(dist, file))) rmSync(join(dist, file));
