/**
 * Removes what installed packages bring and nothing here uses; npm runs it after each install. It runs in the
 * machine's own Node, which may be old.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const packages = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../node_modules");

for (const name of existsSync(packages) ? readdirSync(packages) : []) {
  // C headers, 67 MB: nothing is compiled against them.
  if (/^node-(linux|win)-/.test(name)) {
    for (const part of ["CHANGELOG.md", "include", "share"]) remove(name, part);
  }
  // 10 MB: vite loads it for style sheets, and no test imports any.
  if (name.startsWith("lightningcss-")) remove(name);
}
// 17 MB: no one steps through the sources of packages here.
const files = existsSync(packages) ? readdirSync(packages, { recursive: true }) : [];
for (const file of files) if (/\.(?:js|cjs|mjs|ts|cts|mts)\.map$/.test(file)) remove(file);

function remove(...path) {
  rmSync(join(packages, ...path), { recursive: true, force: true });
}
