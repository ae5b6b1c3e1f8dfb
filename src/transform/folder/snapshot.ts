import { mkdir, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isInside } from "../loader/containment.ts";
import type { TransformsRoot } from "../loader/containment.ts";
import { copyFolder } from "./copy.ts";
import type { EarlierCopy } from "./copy.ts";
import { FolderChangedError } from "../errors.ts";
import { FolderError } from "../errors.ts";
import { isSystemError, scanFolder } from "./scan.ts";
import type { FolderLimits, FolderScan } from "./scan.ts";
import { systemRemedy } from "./scan.ts";

export interface TakeSnapshotOptions {
  /** Folder of the copies, absolute; made when it is missing, and not within the transforms folder. */
  readonly workDir: string;
  /** An earlier snapshot of the same folder; the files that have not changed since are shared with it. */
  readonly previous?: FolderSnapshot | undefined;
  readonly limits?: FolderLimits;
}

const ATTEMPTS = 5;
/** Times of files move in steps; within one, a second change is not seen. */
const CLOCK_STEP_MS = 20;

const PACKAGE = "package.json";

/** The copies of this process that have not been removed. */
const inUse = new Set<string>();
let taken = 0;

/**
 * A private copy of the transforms folder that never changes, `<workDir>/<pid>-<n>`: its folders and
 * regular files, links within it, and an empty package.json where it has none. The original may change and be removed.
 */
export class FolderSnapshot {
  /** Real path of the copy; only the gateway's user can read it. */
  readonly path: string;
  /** That of the folder at the time, see {@link fingerprintFolder}. */
  readonly fingerprint: string;
  readonly #copy: EarlierCopy;

  /**
   * Copies the folder as it is at one moment; waits for changes in progress to end, for about a second.
   *
   * Throws a {@link FolderError}: the folder does not exist, keeps changing, holds more than 50,000 files
   * or 512 MiB, cannot be copied, or something in it cannot be read or is a link out of it or to nothing.
   */
  static async take(
    folder: TransformsRoot,
    { workDir, previous, limits }: TakeSnapshotOptions,
  ): Promise<FolderSnapshot> {
    const place = await makeWorkDir(workDir).catch(failing(folder));
    if (isInside(folder.path, place)) {
      throw new FolderError(`${folder.name} must not hold the gateway's state; keep that in another folder`);
    }
    return await trying(folder, async () => {
      const scan = await settledScan(folder, limits);
      const path = await makePlace(place);
      try {
        await copyFolder(folder, scan, { target: path, previous: previous && previous.#copy });
        await endPackages(path, scan);
        const after = await scanFolder(folder, limits);
        if (after.history !== scan.history) throw new FolderChangedError("It was written to.");
        return new FolderSnapshot(path, scan);
      } catch (error) {
        await removePlace(path);
        throw error;
      }
    });
  }

  private constructor(path: string, { fingerprint, entries }: FolderScan) {
    this.path = path;
    this.fingerprint = fingerprint;
    const files = entries.filter((entry) => entry.kind === "file");
    this.#copy = { path, stamps: new Map(files.map((file) => [file.path, file.stamp])) };
  }

  /** Never rejects: what cannot be removed is left to the next {@link sweepSnapshots}. */
  remove(): Promise<void> {
    return removePlace(this.path);
  }
}

/**
 * Tells two states of a folder apart: equal when it holds the same names, the same files with the same
 * sizes and times, and links to the same targets. Throws a {@link FolderError} as {@link FolderSnapshot.take} does.
 */
export async function fingerprintFolder(folder: TransformsRoot): Promise<string> {
  const { fingerprint } = await trying(folder, () => scanFolder(folder));
  return fingerprint;
}

/** Removes the copies that were left by processes that are gone; everything else in the folder stays. */
export async function sweepSnapshots(workDir: string): Promise<void> {
  const place = await realpath(workDir).catch(ignoreMissing);
  if (place === undefined) return;
  for (const name of await readdir(place)) {
    const path = join(place, name);
    const [, pid] = /^([1-9]\d{0,9})-\d+$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid), path)) await removePlace(path);
  }
}

/** Carries it out again while the folder changes. */
async function trying<Value>(folder: TransformsRoot, attempt: () => Promise<Value>): Promise<Value> {
  for (let failed = 0; ;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof FolderChangedError)) return failing(folder)(error);
      failed++;
      if (failed === ATTEMPTS) {
        const message = `${folder.name} keeps changing; try again when nothing writes to it`;
        throw new FolderError(message, { cause: error, isPassing: true });
      }
      await setTimeout(100 * failed);
    }
  }
}

/** Errors of the system that came with the copying, in words. */
function failing(folder: TransformsRoot): (error: unknown) => never {
  return (error) => {
    if (!isSystemError(error)) throw error;
    const { code } = error;
    const message = `${folder.name} cannot be copied to the gateway's state folder (${code}); ${systemRemedy(code)}`;
    throw new FolderError(message, { cause: error });
  };
}

async function makeWorkDir(workDir: string): Promise<string> {
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  return await realpath(workDir);
}

/** A scan after which every further change shows. */
async function settledScan(folder: TransformsRoot, limits: FolderLimits | undefined): Promise<FolderScan> {
  const scan = await scanFolder(folder, limits);
  if (Date.now() - scan.changedMs > CLOCK_STEP_MS) return scan;
  await setTimeout(CLOCK_STEP_MS);
  return await scanFolder(folder, limits);
}

async function makePlace(workDir: string): Promise<string> {
  for (;;) {
    taken++;
    const path = join(workDir, `${process.pid}-${taken}`);
    try {
      inUse.add(path);
      await mkdir(path, { mode: 0o700 });
      return path;
    } catch (error) {
      inUse.delete(path);
      if (!isSystemError(error) || error.code !== "EEXIST") throw error;
    }
  }
}

/**
 * Whoever resolves an import looks for the nearest package.json first. Above the copy a sandbox process may not even
 * look, and what it imports would then be resolved without the conditions of an import, or not at all.
 */
async function endPackages(path: string, { entries }: FolderScan): Promise<void> {
  if (entries.some((entry) => entry.path === PACKAGE)) return;
  await writeFile(join(path, PACKAGE), "{}\n", { flag: "wx", mode: 0o400 });
}

async function removePlace(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => {});
  inUse.delete(path);
}

function isAlive(pid: number, path: string): boolean {
  // In a container every start has the same number.
  if (pid === process.pid) return inUse.has(path);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isSystemError(error) && error.code === "EPERM";
  }
}

function ignoreMissing(error: unknown): undefined {
  if (!isSystemError(error) || error.code !== "ENOENT") throw error;
  return undefined;
}
