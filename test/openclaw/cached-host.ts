import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { removeLeftovers } from "./remove-leftovers.ts";

/** Written last; holds how many files there are. */
const WHOLE = "whole.json";
/** What an interrupted run has left may be removed after this. */
const STALE_MS = 3_600_000;

/**
 * The folder of the package `openclaw` in this version, which has 650 MB: installed once by `install`, below
 * the system's temporary folder. It is installed beside its place and moved there whole, so that neither an
 * interrupted run nor one at the same time leaves half of it; one that has lost files is replaced.
 */
export function cachedHost(
  version: string,
  install: (version: string, folder: string) => void,
  parent = tmpdir(),
): string {
  const name = `reveille-openclaw-${version}`;
  const place = join(parent, name);
  const host = join(place, "node_modules/openclaw");
  removeLeftovers(parent, `${name}.`, STALE_MS);
  if (isWhole(place)) return host;
  const fresh = mkdtempSync(join(parent, `${name}.`));
  try {
    install(version, fresh);
    writeFileSync(join(fresh, WHOLE), JSON.stringify({ version, files: countFiles(fresh) }));
    if (existsSync(place) && !isWhole(place)) rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    renameSync(fresh, place);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true, maxRetries: 5 });
    // Another run may have been faster.
    if (!isWhole(place)) throw error;
  }
  return host;
}

/** Somebody else's folder is none: what is in it is run. */
function isWhole(place: string): boolean {
  try {
    if (statSync(place).uid !== userInfo().uid) return false;
    const { files } = JSON.parse(readFileSync(join(place, WHOLE), "utf8")) as { files: number };
    return countFiles(place) >= files;
  } catch {
    return false;
  }
}

/** Hidden ones do not count: the host removes notes of its own. */
function countFiles(place: string): number {
  const entries = readdirSync(place, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== WHOLE).length;
}
