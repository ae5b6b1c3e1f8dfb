import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file that only its owner may read (mode 0600) at once and durably: after a crash it holds
 * either the old text or the new one, and the new one once this has resolved. One writer at a time.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.tmp`;
  // What a crash left behind may have another mode.
  await rm(temporary, { force: true });
  const handle = await open(temporary, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncFolder(dirname(file));
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
