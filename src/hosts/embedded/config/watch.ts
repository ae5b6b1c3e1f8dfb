/** Tells when the configuration file has changed. */
import { dirname, join } from "node:path";
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
 * Calls `onChange` once after each burst of changes of the file.
 *
 * The folder is watched and not the file, since editors and configuration tools replace the file
 * by a rename, after which a watch of the file itself would look at the old one.
 */
export async function watchConfigFile(
  file: string,
  onChange: () => void,
  { onError = () => {} }: WatchConfigOptions = {},
): Promise<ConfigWatch> {
  const folder = dirname(file);
  const watched = new Set([folder, file, join(folder, mountLink)]);
  const watcher = watch(folder, {
    depth: 0,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => !watched.has(path),
  });
  let timer: NodeJS.Timeout | undefined;
  const schedule = (path: string): void => {
    if (path === folder) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, DEBOUNCE_MS);
  };
  watcher.on("all", (_event, path) => {
    schedule(path);
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
