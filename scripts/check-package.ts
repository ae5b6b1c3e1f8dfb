/**
 * Checks what `npm publish` would ship: run after `npm run build`. Prints every problem and exits 1 if
 * there is one.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";

interface Packed {
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

const requiredFiles = [
  "LICENSE",
  "README.md",
  "package.json",
  "plugin.json",
  "openclaw.plugin.json",
  "dist/index.js",
  "dist/index.d.ts",
];
const allowedPaths =
  /^(?:dist\/.+\.(?:js|d\.ts|js\.map)|docs\/.+|LICENSE|README\.md|package\.json|(?:openclaw\.)?plugin\.json)$/;
const tsImport = /(?:from|import|import\()\s*["']\.[^"']*\.ts["']/;

const problems: string[] = [];

function listPackedFiles(): string[] {
  const output = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8" });
  const answer: unknown = JSON.parse(output);
  // npm answers with a list, newer releases with an object keyed by package name.
  const packed = Object.values(answer as Record<string, Packed>);
  return packed.flatMap((entry) => entry.files.map((file) => file.path)).toSorted();
}

function checkContents(packedFiles: readonly string[]): void {
  for (const path of requiredFiles) if (!packedFiles.includes(path)) problems.push(`the package lacks ${path}`);
  for (const path of packedFiles) if (!allowedPaths.test(path)) problems.push(`the package must not contain ${path}`);
  for (const source of globSync("src/**/*.ts")) {
    const built = source.replace(/^src/, "dist").replace(/\.ts$/, ".js");
    if (!packedFiles.includes(built)) problems.push(`${source} has no ${built} in the package`);
  }
  for (const path of packedFiles) {
    if (path.endsWith(".js") && tsImport.test(readFileSync(path, "utf8"))) {
      problems.push(`${path} still imports a .ts file`);
    }
  }
}

function checkRuns(): void {
  const load = spawnSync(process.execPath, ["--eval", 'await import("reveille")'], { encoding: "utf8" });
  if (load.status !== 0) problems.push(`import("reveille") fails:\n${load.stderr}`);
  const bin = "dist/cli/main.js";
  if (!existsSync(bin)) {
    problems.push(`the command ${bin} does not exist`);
    return;
  }
  if (!readFileSync(bin, "utf8").startsWith("#!/usr/bin/env node\n")) problems.push(`${bin} has no shebang line`);
  const help = spawnSync(process.execPath, [bin, "--help"], { encoding: "utf8" });
  if (help.status !== 0) problems.push(`reveille --help fails:\n${help.stderr}`);
}

const packedFiles = listPackedFiles();
checkContents(packedFiles);
checkRuns();
if (problems.length > 0) {
  console.error(problems.map((problem) => `- ${problem}`).join("\n"));
  process.exitCode = 1;
} else {
  console.log(`The package is complete: ${packedFiles.length} files.`);
}
