import { closeSync, fchownSync, lstatSync, openSync, renameSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file that only its owner may read (mode 0600) at once and durably: after a crash it holds
 * either the old text or the new one, and the new one once this has resolved. One writer at a time. As root it leaves the
 * file to its owner, who may be the user of the gateway.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.tmp`;
  // A file that a crash left behind may have another mode.
  await rm(temporary, { force: true });
  const handle = await open(temporary, "wx", 0o600);
  try {
    const owner = ownerToKeep(file);
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncFolder(dirname(file));
}

/**
 * The same for what can be made again after a crash: it does not wait for the disk. Root may do it in a folder of the
 * gateway's user: a link that lies where the text is written first is not followed.
 */
export function writePrivateFileSync(file: string, text: string): void {
  const temporary = `${file}.tmp`;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    const owner = ownerToKeep(file);
    if (owner !== undefined) fchownSync(descriptor, owner.uid, owner.gid);
    writeFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}

/** `undefined` where there is no file yet, and for anyone but root, whose files are their own. */
function ownerToKeep(file: string): Stats | undefined {
  return process.getuid?.() === 0 ? lstatSync(file, { throwIfNoEntry: false }) : undefined;
}

/** Reads a file of at most so many bytes; `undefined` when there is none, and an empty text for a larger one. */
export async function readBoundedFile(file: string, maxBytes: number): Promise<string | undefined> {
  const handle = await open(file, "r").catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    return size > maxBytes ? "" : await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** The new name is durable only once the folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
