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
  return {
    name: "bundled-programs",
    enforce: "pre",
    configureVitest({ vitest }) {
      isWatching = vitest.config.watch;
    },
    transform: {
      filter: { id: STARTERS },
      handler(code, id) {
        const path = STARTERS.exec(id)?.groups?.["path"];
        const folder = path === undefined || isWatching ? undefined : builtFolder();
        if (folder === undefined) return null;
        const address = pathToFileURL(join(folder, `${path}.js`)).href;
        // No line moves.
        return { code: code.replaceAll("import.meta.url", JSON.stringify(address)), map: null };
      },
    },
  };
}
