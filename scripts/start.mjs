/**
 * Runs the program from its bundle: `node scripts/start.mjs <command>...`. The bundle is built first when a source
 * is newer.
 *
 * This file is JavaScript because the process that runs it becomes the gateway: Node's compiler for types costs
 * 11 MiB of memory there.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const builds = join(root, ".build");
/** A running gateway loads some chunks late: its bundle stays while newer ones are made. */
const KEPT = 5;

await import(program());

/** @returns {string} the file that runs the command line */
function program() {
  const folder = join(builds, stamp());
  const main = join(folder, "cli/main.js");
  if (existsSync(main)) return main;
  const unfinished = `${folder}.${process.pid}`;
  const { status } = spawnSync(process.execPath, [join(root, "scripts/bundle.ts"), unfinished], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  try {
    renameSync(unfinished, folder);
  } catch {
    // Another process has just built the same.
    rmSync(unfinished, { recursive: true, force: true });
  }
  removeOldBuilds();
  return main;
}

/** @returns {string} a name that differs when a source or a package was added, removed or changed */
function stamp() {
  const files = globSync("src/**/*.ts", { cwd: root }).map((file) => join(root, file));
  const inputs = [...files, join(root, "package-lock.json"), join(root, "scripts/bundle.ts")];
  const newest = Math.max(...inputs.map((file) => Math.trunc(statSync(file).mtimeMs)));
  return `${newest}-${files.length}`;
}

function removeOldBuilds() {
  const folders = readdirSync(builds).map((name) => join(builds, name));
  const newestFirst = folders.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of newestFirst.slice(KEPT)) rmSync(folder, { recursive: true, force: true });
}
