/**
 * Installs what only one command needs: `node scripts/install-packages.ts <folder>`, where the folder has a
 * package.json and a lock file of its own that the root install leaves out. Does nothing when the packages
 * of the lock file are there already.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Throws when npm fails. */
export function installPackages(folder: string): void {
  const cwd = join(root, folder);
  const lock = createHash("sha256")
    .update(readFileSync(join(cwd, "package-lock.json")))
    .digest("hex");
  /** Says which lock file was installed. */
  const stamp = join(cwd, "node_modules/.installed-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;

  console.log(`Installing the packages of ${folder}, which the root install leaves out ...`);
  const { status, error } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd,
    stdio: "inherit",
  });
  if (status !== 0) {
    throw new Error(`The packages of ${folder} were not installed. Run "npm ci" there to see why.`, { cause: error });
  }
  writeFileSync(stamp, lock);
}

if (import.meta.main) for (const folder of process.argv.slice(2)) installPackages(folder);
