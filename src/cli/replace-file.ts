/** Writes configuration files and what is beside them, so that the gateway's user can read them whoever runs the command. */
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { CliError } from "./errors.ts";

export interface Replacement {
  /** The text that was read and edited. */
  readonly before: string;
  readonly after: string;
  /** Called with the path behind all links, when the new text is written and about to take its place. */
  readonly keepCopy?: (target: string) => void;
  /** Default: as it was. */
  readonly mode?: number;
}

/**
 * Puts a new text in the place of a file by a rename, behind a link too, with owner and mode as they were. Throws a
 * {@link CliError}, and writes nothing, when the file does not hold `before` any more.
 */
export function replaceFile(file: string, { before, after, keepCopy, mode }: Replacement): void {
  const target = realpathSync(file);
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.reveille`);
  rmSync(temporary, { force: true });
  const { uid, gid, mode: modeBefore } = statSync(target);
  writeNew(temporary, after, { uid, gid, mode: mode ?? modeBefore });
  try {
    if (readFileSync(target, "utf8") !== before) {
      throw new CliError(`${file} was changed meanwhile; nothing was written. Run the command again.`);
    }
    keepCopy?.(target);
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** `mode` is what a file of that owner gets, where it is not 0600. */
export type Owner = Pick<Stats, "uid" | "gid"> & { readonly mode?: number };

/**
 * Who is to have what is made at a path: the owner of what is there, or of the folder that it comes into; with the
 * group of a file that is there.
 */
export function ownerAt(path: string): Owner {
  for (let at = resolve(path); ; at = dirname(at)) {
    const found = statSync(at, { throwIfNoEntry: false });
    if (found === undefined) continue;
    const maker = makerOf(found);
    return found.isFile() && maker.gid === found.gid ? { ...maker, mode: privateMode(found) } : maker;
  }
}

/** The mode of secrets beside a file or in its place: a group by which the gateway may read it keeps its rights. */
export function privateMode({ mode }: Pick<Stats, "mode">): number {
  return 0o600 | ((mode & 0o007) === 0 ? mode & 0o060 : 0);
}

/** Anyone but root makes files of their own, and so does root where it may give none away. */
function makerOf({ uid, gid }: Owner): Owner {
  const user = process.getuid?.();
  const isGiven = user === undefined || (user === 0 && mayGive());
  return isGiven ? { uid, gid } : { uid: user, gid: process.getgid?.() ?? gid };
}

const CAP_CHOWN = 1n;

/** False for a root without capabilities, as in a container that drops them all. */
function mayGive(): boolean {
  try {
    const [, bits] = /^CapEff:\s*([\da-f]+)$/mu.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return bits === undefined || (BigInt(`0x${bits}`) & CAP_CHOWN) !== 0n;
  } catch {
    // Only Linux has capabilities.
    return true;
  }
}

/** Writes a file that was not there, for this owner. Throws, and leaves no file behind, when that cannot be done. */
export function writeNew(file: string, text: string, { mode, ...owner }: Owner & Pick<Stats, "mode">): void {
  const descriptor = openSync(file, "wx", 0o600);
  try {
    writeFileSync(descriptor, text);
    give(descriptor, { mode, ...owner });
    fchmodSync(descriptor, mode & 0o777);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** By the descriptor: the owner of the folder can put a link to another file at the path meanwhile. */
function give(descriptor: number, { uid, gid, mode }: Owner & Pick<Stats, "mode">): void {
  const made = fstatSync(descriptor);
  if (made.uid === uid && made.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch (error) {
    // A group that may do nothing with the file is no reason to refuse its owner, who may not be in it.
    if (made.uid === uid && (mode & 0o070) === 0) return;
    throw new CliError("The configuration belongs to another user or group; run the command as its owner or as root.", {
      cause: error,
    });
  }
}

/** What root makes for another user, each path with the owner that it is to have; nothing for any other user. */
export function giveFromRoot(paths: readonly string[], { uid, gid }: Owner): void {
  if (process.getuid?.() !== 0) return;
  for (const path of paths) lchownSync(path, uid, gid);
}

/** Makes a folder and those above it, for the owner and for a group that may read its files. */
export function makeFolder(folder: string, owner: Owner): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    giveFromRoot([made], owner);
    if (((owner.mode ?? 0) & 0o040) !== 0) chmodSync(made, 0o750);
  }
}
