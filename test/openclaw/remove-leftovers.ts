import { readdirSync, rmSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";

/** Removes what interrupted runs of this user have left in a folder: names with the prefix, unchanged for that long. */
export function removeLeftovers(parent: string, prefix: string, staleMs: number): void {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(prefix))) {
    const leftover = join(parent, name);
    const found = statSync(leftover, { throwIfNoEntry: false });
    if (found === undefined || found.uid !== userInfo().uid || Date.now() - found.mtimeMs <= staleMs) continue;
    rmSync(leftover, { recursive: true, force: true, maxRetries: 5 });
  }
}
