/** Tells when the configuration file has changed. */
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { watch } from "chokidar";

export interface ConfigWatch {
  close(): Promise<void>;
}

export interface WatchConfigOptions {
  /** Called when watching itself fails. */
  readonly onError?: (error: unknown) => void;
}

/** Time without a change after which the file is read. */
export const DEBOUNCE_MS = 150;

/** The name under which mounted configuration volumes switch all their files at once. */
const mountLink = "..data";

/**
 * Calls `onChange` once after each burst of changes of the file, or of the file that it is a link to.
 *
 * The folder is watched and not the file, since editors and configuration tools replace the file
 * by a rename, after which a watch of the file itself would look at the old one. Of a folder that is itself a link, as
 * systemd makes it for a dynamic user, the real one is watched: nothing changes in a link.
 */
export async function watchConfigFile(
  file: string,
  onChange: () => void,
  { onError = () => {} }: WatchConfigOptions = {},
): Promise<ConfigWatch> {
  const folder = realPath(dirname(file)) ?? dirname(file);
  const own = new Set([folder, join(folder, basename(file)), join(folder, mountLink)]);
  /** The file that a link leads to. */
  let target: string | undefined;
  const watcher = watch(folder, {
    depth: 0,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => !own.has(path) && path !== target && (target === undefined || path !== dirname(target)),
  });
  const follow = (): void => {
    const real = realPath(file);
    const next = real === undefined || dirname(real) === folder ? undefined : real;
    if (next === target) return;
    if (target !== undefined) watcher.unwatch(dirname(target));
    target = next;
    if (target !== undefined) watcher.add(dirname(target));
  };
  let timer: NodeJS.Timeout | undefined;
  const schedule = (path: string): void => {
    if (path === folder || (target !== undefined && path === dirname(target))) return;
    follow();
    clearTimeout(timer);
    timer = setTimeout(onChange, DEBOUNCE_MS);
  };
  watcher.on("all", (_event, path) => {
    schedule(path);
  });
  watcher.on("error", onError);
  await new Promise<void>((resolve) => watcher.once("ready", resolve));
  follow();
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
