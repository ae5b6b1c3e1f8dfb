/** Tells when the configuration file has changed. */
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
  const own = join(folder, basename(file));
  /** Where the file is a link, the file that it leads to. */
  let target: string | undefined;
  let linked: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isReady = false;
  const schedule = (event: string): void => {
    // Of the folder itself.
    if (event.endsWith("Dir")) return;
    if (isReady) follow();
    clearTimeout(timer);
    timer = setTimeout(onChange, DEBOUNCE_MS);
  };
  const listen = (watcher: FSWatcher): FSWatcher => watcher.on("all", schedule).on("error", onError);
  const follow = (): void => {
    const real = realPath(file);
    const next = real === own ? undefined : real;
    if (next === target) return;
    target = next;
    void linked?.close();
    linked = target === undefined ? undefined : listen(watchFiles([target]));
  };
  const watcher = listen(watchFiles([own, join(folder, mountLink)]));
  follow();
  const all = (): readonly FSWatcher[] => (linked === undefined ? [watcher] : [watcher, linked]);
  // A folder that cannot be watched is an error for `onError`, and is ready all the same.
  await Promise.all(all().map((each) => new Promise<void>((resolve) => each.once("ready", resolve))));
  isReady = true;
  follow();
  return {
    async close() {
      clearTimeout(timer);
      await Promise.all(all().map((each) => each.close()));
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
