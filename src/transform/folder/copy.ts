import { constants } from "node:fs";
import { link, mkdir, open, symlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { nameInRoot } from "../loader/containment.ts";
import type { TransformsRoot } from "../loader/containment.ts";
import { FolderChangedError } from "../errors.ts";
import { FolderError } from "../errors.ts";
import { goneOrUnreadable, isSystemError, stampOf } from "./scan.ts";
import type { FolderEntry, FolderScan } from "./scan.ts";

/** An earlier copy, whose files never change. */
export interface EarlierCopy {
  readonly path: string;
  /** The stamps of the originals by their path in the folder. */
  readonly stamps: ReadonlyMap<string, string>;
}

export interface CopyFolderOptions {
  /** An empty folder that no one else can reach. */
  readonly target: string;
  readonly previous: EarlierCopy | undefined;
}

type FileEntry = Extract<FolderEntry, { kind: "file" }>;

/** Copied at once. */
const AT_ONCE = 8;
const CHUNK_BYTES = 256 * 1024;
/** A pipe instead of the file must not keep the gateway waiting. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FILE_MODE = 0o400;
const FOLDER_MODE = 0o700;

/**
 * Makes the folder again as it was scanned, its links as relative ones. Files that an earlier copy has are
 * shared with it.
 *
 * Copies nothing but the very files that were scanned, whatever takes their place meanwhile: throws a
 * {@link FolderChangedError} then, and a {@link FolderError} for a file that cannot be read.
 */
export async function copyFolder(
  root: TransformsRoot,
  { entries }: FolderScan,
  { target, previous }: CopyFolderOptions,
): Promise<void> {
  const files: FileEntry[] = [];
  for (const entry of entries) {
    if (entry.kind === "folder") await mkdir(join(target, entry.path), { mode: FOLDER_MODE });
    if (entry.kind === "file") files.push(entry);
  }
  const waiting = files.values();
  let isFailed = false;
  const work = async (): Promise<void> => {
    for (const file of waiting) {
      if (isFailed) return;
      await takeFile(file, { root, target, previous }).catch((error: unknown) => {
        isFailed = true;
        throw error;
      });
    }
  };
  const workers = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  // Only now does no one write there any more.
  for (const worker of workers) if (worker.status === "rejected") throw worker.reason;
  for (const entry of entries) {
    if (entry.kind !== "link") continue;
    const way = relative(dirname(join(target, entry.path)), join(target, entry.target));
    await symlink(way === "" ? "." : way, join(target, entry.path));
  }
}

async function takeFile(
  file: FileEntry,
  { root, target, previous }: CopyFolderOptions & { readonly root: TransformsRoot },
): Promise<void> {
  const copy = join(target, file.path);
  if (previous?.stamps.get(file.path) === file.stamp) {
    const isShared = await link(join(previous.path, file.path), copy).then(
      () => true,
      () => false,
    );
    if (isShared) return;
  }
  const source = await openOriginal(file, root);
  try {
    if (stampOf(await source.stat({ bigint: true })) !== file.stamp) throw changed(file, root);
    const written = await open(copy, "wx", FILE_MODE);
    try {
      await pump(source, written, file.bytes);
    } finally {
      await written.close();
    }
  } finally {
    await source.close();
  }
}

async function openOriginal(file: FileEntry, root: TransformsRoot): Promise<FileHandle> {
  const path = join(root.path, file.path);
  try {
    return await open(path, READ_ONLY);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // ELOOP and ENXIO: a link or a socket has taken its place.
    const isReplaced = error.code === "ELOOP" || error.code === "ENXIO";
    const reason = isReplaced ? undefined : goneOrUnreadable(error.code);
    if (reason === undefined) throw changed(file, root);
    throw new FolderError(`${nameInRoot(path, root)} ${reason}`, { cause: error });
  }
}

/** No more than the length that was scanned: whatever grows meanwhile is seen by the next scan. */
async function pump(source: FileHandle, written: FileHandle, bytes: number): Promise<void> {
  const chunk = Buffer.allocUnsafe(Math.min(bytes, CHUNK_BYTES));
  for (let left = bytes; left > 0;) {
    const { bytesRead } = await source.read(chunk, 0, Math.min(left, chunk.length));
    if (bytesRead === 0) return;
    await written.writeFile(chunk.subarray(0, bytesRead));
    left -= bytesRead;
  }
}

function changed(file: FileEntry, root: TransformsRoot): FolderChangedError {
  return new FolderChangedError(`${nameInRoot(join(root.path, file.path), root)} was replaced`);
}
