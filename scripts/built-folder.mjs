/**
 * The folder with the bundle of the sources.
 *
 * This file is JavaScript because `start.mjs` imports it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const builds = join(root, ".build");
const KEPT = 5;

/**
 * The bundle is built first when a source is newer; what the build reports is on stderr. It stays while the process
 * that asked for it runs: a gateway loads some chunks late.
 *
 * @returns {string | undefined} `undefined` when the packages that build it are not installed
 */
export function builtFolder() {
  const folder = join(builds, stamp());
  if (existsSync(join(folder, "cli/main.js"))) return inUse(folder);
  if (!existsSync(join(root, "node_modules/rolldown"))) return undefined;
  const unfinished = `${folder}.${process.pid}`;
  const { status } = spawnSync(process.execPath, [join(root, "scripts/bundle.ts"), unfinished], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  try {
    renameSync(unfinished, folder);
  } catch {
    // Another process has just built the same.
    rmSync(unfinished, { recursive: true, force: true });
  }
  inUse(folder);
  removeOldBuilds();
  return folder;
}

/** @param {string} folder */
function inUse(folder) {
  const users = join(folder, "users");
  try {
    mkdirSync(users, { recursive: true });
    for (const pid of readdirSync(users)) if (!isRunning(Number(pid))) rmSync(join(users, pid), { force: true });
    writeFileSync(join(users, String(process.pid)), "");
  } catch {
    // The clone may belong to another user, who alone makes and removes bundles in it.
  }
  return folder;
}

/** @param {string} folder */
function isInUse(folder) {
  const users = join(folder, "users");
  return existsSync(users) && readdirSync(users).some((pid) => isRunning(Number(pid)));
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It may be another user's.
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
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
  for (const folder of newestFirst.slice(KEPT)) {
    if (!isInUse(folder)) rmSync(folder, { recursive: true, force: true });
  }
}
