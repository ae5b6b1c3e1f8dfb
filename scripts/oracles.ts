/**
 * `npm run oracles`: asks the libraries of the senders about the presets, in both directions, and writes what
 * they say to `test/fixtures/vectors/`, which the default run replays. `-- --check` fails when that changes a
 * file; other arguments go to vitest: `npm run oracles -- stripe`.
 */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installPackages } from "./install-packages.ts";

const root = join(import.meta.dirname, "..");
const isCheck = process.argv.includes("--check");
const filters = process.argv.slice(2).filter((argument) => argument !== "--check");

/** Text by path. */
function vectors(): ReadonlyMap<string, string> {
  const paths = globSync("test/fixtures/vectors/*.json", { cwd: root }).toSorted();
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

/** Exits with the status of the command unless it succeeds. */
function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [join(root, "node_modules", command), ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

const before = vectors();
installPackages("test/oracles");
run("typescript/bin/tsc", ["-p", "test/oracles/tsconfig.json"]);
run("vitest/vitest.mjs", ["run", "--config", "test/oracles/vitest.config.ts", ...filters]);

const after = vectors();
const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
  (path) => before.get(path) !== after.get(path),
);
if (changed.length === 0) {
  console.log("The vectors are up to date.");
} else {
  console.log(`Vectors that have changed:\n${changed.map((path) => `- ${path}`).join("\n")}`);
  if (isCheck) {
    console.error('The committed vectors are out of date. Run "npm run oracles", review the changes and commit them.');
    process.exitCode = 1;
  }
}
