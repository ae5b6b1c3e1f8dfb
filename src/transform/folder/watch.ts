import { realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import { watch } from "chokidar";
import { isInside } from "../loader/containment.ts";
import { isEditorFile } from "./scan.ts";

export interface FolderWatch {
  close(): Promise<void>;
}

export interface WatchFolderOptions {
  /** Called when watching itself fails, and once when there is more in the folder than is watched. */
  readonly onError?: (error: unknown) => void;
}

/** Time without a change after which the folder is read. */
const DEBOUNCE_MS = 150;
/** Files and folders that are watched. */
const MAX_WATCHED = 5_000;

/** Files that npm, pnpm and both kinds of yarn write at the end of an installation. */
const INSTALL_MARKS: ReadonlySet<string> = new Set([
  ".package-lock.json",
  ".modules.yaml",
  ".yarn-integrity",
  ".yarn-state.yml",
]);

/**
 * Calls `onChange` once after each burst of changes below a folder, which need not exist yet; `folder` is
 * absolute. Links are not followed, but for the folder itself. Of installed packages only the end of an
 * installation counts, and editors' own files do not.
 */
export async function watchFolder(
  folder: string,
  onChange: () => void,
  { onError = () => {} }: WatchFolderOptions = {},
): Promise<FolderWatch> {
  let target = realPathOf(folder);
  const roots = new Set([folder, target]);
  const watched = new Bound(MAX_WATCHED, () => {
    onError(new Error(`${folder} holds more than the ${MAX_WATCHED} files that are watched.`));
  });
  const watcher = watch([...roots], {
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => {
      const way = wayFrom(roots, path);
      return way === undefined || isLeftOut(way) || !watched.take(path);
    },
  });
  /** The folder may be a link, and lead elsewhere from now on. */
  const lookAt = (next: string): void => {
    if (next === target) return;
    if (target !== folder) {
      watcher.unwatch(target);
      roots.delete(target);
    }
    target = next;
    roots.add(target);
    watcher.add(target);
  };
  let timer: NodeJS.Timeout | undefined;
  watcher.on("all", (event, path) => {
    if (event === "unlink" || event === "unlinkDir") watched.leave(path);
    if (wayFrom(roots, path) === undefined) return;
    if (path === folder) lookAt(realPathOf(folder));
    clearTimeout(timer);
    timer = setTimeout(onChange, DEBOUNCE_MS);
  });
  watcher.on("error", onError);
  await new Promise<void>((resolve) => watcher.once("ready", resolve));
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}

/** The paths that are watched, up to a number of them. */
class Bound {
  readonly #most: number;
  readonly #paths = new Set<string>();
  readonly #onFull: () => void;
  #isFull = false;

  constructor(most: number, onFull: () => void) {
    this.#most = most;
    this.#onFull = onFull;
  }

  take(path: string): boolean {
    if (this.#paths.has(path)) return true;
    if (this.#paths.size < this.#most) {
      this.#paths.add(path);
      return true;
    }
    if (!this.#isFull) this.#onFull();
    this.#isFull = true;
    return false;
  }

  leave(path: string): void {
    this.#paths.delete(path);
  }
}

/** The path from the folder it lies in, empty for that folder itself. */
function wayFrom(roots: ReadonlySet<string>, path: string): string | undefined {
  for (const root of roots) if (isInside(root, path)) return relative(root, path);
  return undefined;
}

function isLeftOut(way: string): boolean {
  const names = way.split(sep);
  if (names.some((name) => name === ".git" || isEditorFile(name))) return true;
  const at = names.indexOf("node_modules");
  const below = at === -1 ? undefined : names[at + 1];
  return below !== undefined && !INSTALL_MARKS.has(below);
}

function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
