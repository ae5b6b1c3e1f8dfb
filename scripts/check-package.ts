/**
 * Checks what `npm publish` would ship: run after `npm run build`. Prints every problem and exits 1 if
 * there is one.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { parseSync } from "rolldown/utils";

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
  "dist/index.d.ts",
  "dist/testing/describe-preset.d.ts",
  "dist/THIRD-PARTY-LICENSES.txt",
  "dist/cli/main.js",
  "dist/cli/reveille.cjs",
  "dist/console/page/index.html",
  "dist/console/page/console.js",
];
const allowedPaths =
  /^(?:dist\/console\/page\/[a-z]+\.(?:html|css|svg)|dist\/.+\.(?:js|d\.ts|js\.map|txt)|dist\/cli\/reveille\.cjs|docs\/.+|CHANGELOG\.md|LICENSE|README\.md|package\.json|(?:openclaw\.)?plugin\.json)$/;
/** What the archive may weigh. */
const MAX_ARCHIVE_BYTES = 1_500_000;
/** What an import may name besides Node's own modules: the bundle holds the rest. */
const EXTERNAL = new Set(["vitest", "@anthropic-ai/sandbox-runtime", "jiti"]);

const problems: string[] = [];

function pack(): Packed {
  const output = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8" });
  const answer: unknown = JSON.parse(output);
  // npm answers with a list, newer releases with an object keyed by package name.
  const [packed] = Object.values(answer as Record<string, Packed>);
  if (packed === undefined) throw new Error("npm pack lists no package");
  return packed;
}

function checkContents({ size, files }: Packed): void {
  const paths = files.map(({ path }) => path);
  for (const path of requiredFiles) if (!paths.includes(path)) problems.push(`the package lacks ${path}`);
  for (const path of paths) if (!allowedPaths.test(path)) problems.push(`the package must not contain ${path}`);
  if (size > MAX_ARCHIVE_BYTES) problems.push(`the archive has ${size} bytes, more than ${MAX_ARCHIVE_BYTES}`);
  for (const path of paths) if (path.endsWith(".js")) checkImports(path);
}

/** An installed package has jiti beside it, and what its owner installs. */
function checkImports(path: string): void {
  const text = readFileSync(path, "utf8");
  const { staticImports, dynamicImports } = parseSync(path, text).module;
  const requests = [...staticImports, ...dynamicImports].map(({ moduleRequest: { start, end } }) =>
    text.slice(start, end),
  );
  for (const [, name] of requests.join("\n").matchAll(/^["']([^."'][^"']*)["']$/gmu)) {
    if (name !== undefined && !isBuiltin(name) && !EXTERNAL.has(name)) {
      problems.push(`${path} imports ${name}, which is not in the package`);
    }
  }
}

function checkRuns(): void {
  const load = spawnSync(process.execPath, ["--eval", 'await import("reveille")'], { encoding: "utf8" });
  if (load.status !== 0) problems.push(`import("reveille") fails:\n${load.stderr}`);
  const bin = "dist/cli/reveille.cjs";
  if (!existsSync(bin)) {
    problems.push(`the command ${bin} does not exist`);
    return;
  }
  if (!readFileSync(bin, "utf8").startsWith("#!/usr/bin/env node\n")) problems.push(`${bin} has no shebang line`);
  const help = spawnSync(process.execPath, [bin, "--help"], { encoding: "utf8" });
  if (help.status !== 0) problems.push(`reveille --help fails:\n${help.stderr}`);
}

const packed = pack();
checkContents(packed);
checkRuns();
if (problems.length > 0) {
  console.error(problems.map((problem) => `- ${problem}`).join("\n"));
  process.exitCode = 1;
} else {
  console.log(`The package is complete: ${packed.files.length} files, ${packed.size} bytes.`);
}
