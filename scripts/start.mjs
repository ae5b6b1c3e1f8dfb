/**
 * Runs the program from its bundle: `node scripts/start.mjs <command>...`. The bundle is built first when a source
 * is newer.
 *
 * This file is JavaScript because the process that runs it becomes the gateway: Node's compiler for types costs
 * 11 MiB of memory there.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const builds = join(root, ".build");
/** A running gateway loads some chunks late: its bundle stays while newer ones are made. */
const KEPT = 5;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  refuse(`This is Node ${process.versions.node}, and Reveille needs 24.16 or later.`);
}
const main = program();
// What V8 makes of the bundle stays beside it: 60 of 380 ms of a start, for 1 MiB of memory.
enableCompileCache(join(main, "../../code"));
await import(main);

/**
 * `npm ci --omit=dev` leaves out Node 24 and what builds the bundle.
 *
 * @param {string} missing
 */
function refuse(missing) {
  console.error(`${missing} Run npm ci, which installs what is needed, with a Node of its own.
To run Reveille without these packages, make its package once where npm ci has run (npm pack) and install that:
npm install -g ./reveille-*.tgz. It brings one package, jiti, and needs Node 24.`);
  process.exit(1);
}

/** @returns {string} the file that runs the command line */
function program() {
  const folder = join(builds, stamp());
  const main = join(folder, "cli/main.js");
  if (existsSync(main)) return main;
  if (!existsSync(join(root, "node_modules/rolldown"))) {
    refuse("The packages that build the program are not installed.");
  }
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
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const files = sources.filter((file) => /\.[a-z]+$/u.test(file)).map((file) => join(root, "src", file));
  const inputs = [...files, join(root, "package-lock.json"), join(root, "scripts/bundle.ts")];
  const newest = Math.max(...inputs.map((file) => Math.trunc(statSync(file).mtimeMs)));
  return `${newest}-${files.length}`;
}

function removeOldBuilds() {
  const folders = readdirSync(builds).map((name) => join(builds, name));
  const newestFirst = folders.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of newestFirst.slice(KEPT)) rmSync(folder, { recursive: true, force: true });
}
