/** Tells when the configuration file has changed. */
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type FSWatcher, watch } from "chokidar";

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
  const own = watchFiles([join(folder, basename(file)), join(folder, mountLink)]);
  /** Where the file is a link, the file that it leads to. */
  let target: string | undefined;
  let linked: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  const schedule = (event: string): void => {
    // Of the folder itself.
    if (event.endsWith("Dir")) return;
    follow();
    clearTimeout(timer);
    timer = setTimeout(onChange, DEBOUNCE_MS);
  };
  const listen = (watcher: FSWatcher): FSWatcher => watcher.on("all", schedule).on("error", onError);
  const follow = (): void => {
    const real = realPath(file);
    const next = real === undefined || dirname(real) === folder ? undefined : real;
    if (next === target) return;
    target = next;
    void linked?.close();
    linked = target === undefined ? undefined : listen(watchFiles([target]));
  };
  listen(own);
  follow();
  const all = (): readonly FSWatcher[] => (linked === undefined ? [own] : [own, linked]);
  await Promise.all(all().map((watcher) => once(watcher, "ready")));
  return {
    async close() {
      clearTimeout(timer);
      await Promise.all(all().map((watcher) => watcher.close()));
    },
  };
}

/** Watches files of one folder. */
function watchFiles(files: readonly string[]): FSWatcher {
  const folder = dirname(files[0]!);
  return watch(folder, {
    depth: 0,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => path !== folder && !files.includes(path),
  });
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
