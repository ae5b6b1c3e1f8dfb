import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, opendir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { FolderChangedError, FolderError } from "../errors.ts";
import { isInside, nameInRoot, type TransformsRoot } from "../loader/containment.ts";

/** Locks of Emacs, which are links to nothing; copies that editors keep; what Vim and macOS leave while they work. */
const PATTERN = /^(?:\.#.*|#.*#|.*~|.*\.sw[opx]|4913|\.DS_Store)$/s;

/** Tells by its name whether a file of the folder is an editor's own, which comes and goes beside what is edited. */
export function isEditorFile(name: string): boolean {
  return PATTERN.test(name);
}

const TOO_MANY_FILES = "allow the gateway more open files (ulimit -n)";
const NO_ROOM = "make room on the disk of the gateway's state folder";
const NOT_ALLOWED = "let the gateway's user write to its state folder";

const REMEDIES: Readonly<Record<string, string>> = {
  EMFILE: TOO_MANY_FILES,
  ENFILE: "too many files are open on this machine; close programs, or allow more",
  ENOSPC: NO_ROOM,
  EDQUOT: NO_ROOM,
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  EROFS: NOT_ALLOWED,
  ENAMETOOLONG: "shorten the names in it, or keep the gateway's state in a folder with a shorter path",
  EIO: "look at the disks; the system's log has details",
};

/** Says what to do about an error of the system that copying has met, by its code. */
export function systemRemedy(code: string): string {
  return REMEDIES[code] ?? "look at the folder and at the gateway's state folder, and try again";
}

export interface FolderLimits {
  /** Files, folders and links. */
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** Something of the folder; `path` is relative to it, and stays in it however links lie. */
export type FolderEntry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly stamp: string; readonly bytes: number }
  /** `target` is the real path, relative to the folder as well, and always that of another entry or of the folder. */
  | { readonly kind: "link"; readonly path: string; readonly target: string };

export interface FolderScan {
  /** A folder comes before what lies in it. */
  readonly entries: readonly FolderEntry[];
  /** Equal when the folder holds the same: names, files by inode, size and times, targets of links. */
  readonly fingerprint: string;
  /** Equal when besides nothing was put into a folder or taken out of it, be it for a moment. */
  readonly history: string;
  /** Time of the last change, in milliseconds since the epoch. */
  readonly changedMs: number;
}

const FOLDER_LIMITS: FolderLimits = { maxEntries: 50_000, maxBytes: 512 * 1024 * 1024 };

/** Looked at at once. */
const BATCH = 64;
/** Errors of a machine that runs out of something while it reads; the file is not at fault. */
const NOT_OF_THE_FILE: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "EIO"]);

/**
 * Lists what the transforms folder holds, without following a link. Sockets, pipes, devices, `.git` and
 * editors' own files are left out, and links to them.
 *
 * Throws a {@link FolderError} for a folder that is missing, cannot be read or holds too much, and for a
 * link that leads out of it or to nothing; a {@link FolderChangedError} when files went away meanwhile.
 */
export async function scanFolder(root: TransformsRoot, limits: FolderLimits = FOLDER_LIMITS): Promise<FolderScan> {
  const scan = new Scan(root, limits);
  await scan.run();
  return scan.result();
}

/** The kind of a file or folder, and its state: a write, a rename and a change of its mode change it. */
export function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

class Scan {
  readonly #root: TransformsRoot;
  readonly #limits: FolderLimits;
  readonly #entries = new Map<string, FolderEntry>();
  readonly #folderStamps: string[] = [];
  #bytes = 0;
  #changedNs = 0n;

  constructor(root: TransformsRoot, limits: FolderLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  async run(): Promise<void> {
    const stats = await lstat(this.#root.path, { bigint: true }).catch(this.#failing("", missing));
    if (!stats.isDirectory()) throw new FolderError(`${this.#root.name} is not a folder`);
    this.#see("", stats);
    const folders = [""];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const batch of batches(await this.#namesIn(folder))) {
        const paths = batch.map((name) => join(folder, name));
        const kinds = await Promise.all(paths.map((path) => this.#look(path)));
        folders.push(...paths.filter((_, at) => kinds[at] === "folder"));
      }
    }
  }

  result(): FolderScan {
    const isThere = (target: string): boolean => target === "" || this.#entries.has(target);
    const entries = [...this.#entries.values()]
      .filter((entry) => entry.kind !== "link" || isThere(entry.target))
      .toSorted((left, right) => (left.path < right.path ? -1 : 1));
    const fingerprint = hashOf(entries);
    const history = hashOf([fingerprint, ...this.#folderStamps.toSorted()]);
    return { entries, fingerprint, history, changedMs: Number(this.#changedNs / 1_000_000n) };
  }

  async #namesIn(folder: string): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const { name } of await opendir(this.#pathOf(folder))) {
        if (name === ".git" || isEditorFile(name)) continue;
        names.push(name);
        this.#refuseTooMany(names.length);
      }
    } catch (error) {
      return this.#failing(folder)(error);
    }
    return names;
  }

  async #look(path: string): Promise<FolderEntry["kind"] | undefined> {
    const stats = await lstat(this.#pathOf(path), { bigint: true }).catch(this.#failing(path));
    const entry = await this.#entryOf(path, stats);
    if (!entry) return undefined;
    this.#entries.set(path, entry);
    this.#refuseTooMany(0);
    this.#see(path, stats);
    return entry.kind;
  }

  async #entryOf(path: string, stats: BigIntStats): Promise<FolderEntry | undefined> {
    if (stats.isDirectory()) return { kind: "folder", path };
    if (stats.isSymbolicLink()) return { kind: "link", path, target: await this.#targetOf(path) };
    if (!stats.isFile()) return undefined;
    this.#bytes += Number(stats.size);
    if (this.#bytes > this.#limits.maxBytes) {
      const most = `${Math.floor(this.#limits.maxBytes / 1024 / 1024)} MiB`;
      throw new FolderError(`${this.#root.name} holds more than ${most}; ${KEEP_LITTLE}`);
    }
    return { kind: "file", path, stamp: stampOf(stats), bytes: Number(stats.size) };
  }

  async #targetOf(link: string): Promise<string> {
    const target = await realpath(this.#pathOf(link)).catch(this.#failing(link, linkProblem));
    if (isInside(this.#root.path, target)) return relative(this.#root.path, target);
    const name = nameInRoot(this.#pathOf(link), this.#root);
    throw new FolderError(`${name} is a link that leads out of ${this.#root.name}; put a copy there in its place`);
  }

  #see(path: string, stats: BigIntStats): void {
    if (stats.isDirectory()) this.#folderStamps.push(`${path}\0${stampOf(stats)}`);
    if (stats.ctimeNs > this.#changedNs) this.#changedNs = stats.ctimeNs;
  }

  #refuseTooMany(more: number): void {
    if (this.#entries.size + more <= this.#limits.maxEntries) return;
    const most = this.#limits.maxEntries.toLocaleString("en");
    throw new FolderError(`${this.#root.name} holds more than ${most} files; ${KEEP_LITTLE}`);
  }

  #pathOf(path: string): string {
    return join(this.#root.path, path);
  }

  #failing(path: string, problem: (code: string) => string | undefined = goneOrUnreadable): (error: unknown) => never {
    return (error) => {
      if (!isSystemError(error)) throw error;
      const name = path === "" ? this.#root.name : nameInRoot(this.#pathOf(path), this.#root);
      const reason = problem(error.code);
      // Node cannot open what it cannot name.
      if (path.includes("\u{FFFD}")) throw new FolderError(`${name} has a name that is not UTF-8; rename it`);
      if (reason === undefined) throw new FolderChangedError(`${name} went away`, { cause: error });
      throw new FolderError(`${name} ${reason}`, { cause: error });
    };
  }
}

const KEEP_LITTLE = "keep only what transforms need in it";

/** Says why something of the folder cannot be used; `undefined`: it has gone since it was seen. */
export function goneOrUnreadable(code: string): string | undefined {
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  if (NOT_OF_THE_FILE.has(code)) return `cannot be read (${code}); ${systemRemedy(code)}`;
  return `cannot be read (${code}); let the gateway's user read it, or take it out of the folder`;
}

function missing(code: string): string {
  return goneOrUnreadable(code) ?? "does not exist; make the folder and put the transforms into it";
}

function linkProblem(code: string): string {
  if (code === "ENOENT" || code === "ENOTDIR") return "is a link to nothing; remove it, or make what it leads to";
  if (NOT_OF_THE_FILE.has(code)) return `is a link that cannot be followed now (${code}); ${systemRemedy(code)}`;
  return `is a link that cannot be followed (${code}); remove it`;
}

export function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url");
}

function* batches(names: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < names.length; at += BATCH) yield names.slice(at, at + BATCH);
}
