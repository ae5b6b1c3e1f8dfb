import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "vitest/config";
import { builtFolder } from "./built-folder.mjs";

/** The modules that start a program of Reveille's which is beside them. */
const STARTERS = /\/src\/(?<path>transform\/sandbox\/spawn|hosts\/embedded\/programs\/confinement)\.ts$/u;

/**
 * Tests start sandboxes and confined programs from the bundle, as an installed gateway does: that takes half of the
 * time. Who watches the tests changes sources while they run, and gets the programs of the sources.
 */
export function bundledPrograms(): Plugin {
  let isWatching = false;
  let folder: string | undefined;
  const folderOf = (id: string): string | undefined => {
    if (isWatching || !STARTERS.test(id)) return undefined;
    folder ??= builtFolder();
    return folder;
  };
  return {
    name: "bundled-programs",
    enforce: "pre",
    configureVitest({ vitest, defineCacheKeyGenerator }) {
      isWatching = vitest.config.watch;
      // What Vitest keeps of an earlier run names a bundle that may be gone.
      defineCacheKeyGenerator(({ id }) => folderOf(id));
    },
    transform: {
      filter: { id: STARTERS },
      handler(code, id) {
        const bundle = folderOf(id);
        if (bundle === undefined) return null;
        const address = pathToFileURL(join(bundle, `${STARTERS.exec(id)?.groups?.["path"]}.js`)).href;
        // No line moves.
        return { code: code.replaceAll("import.meta.url", JSON.stringify(address)), map: null };
      },
    },
  };
}
