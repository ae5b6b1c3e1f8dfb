/**
 * Builds the console's page into a folder: `node scripts/console-page.ts [folder]`. Without a folder, beside the
 * sources that serve it.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";

const APP = resolve(import.meta.dirname, "../src/console/app");

/** Three files and an icon: nothing else is loaded by the page. */
export async function buildConsolePage(folder: string): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  for (const name of ["index.html", "console.css", "favicon.svg"]) copyFileSync(join(APP, name), join(folder, name));
  const build = await rolldown({
    input: join(APP, "main.tsx"),
    tsconfig: false,
    transform: { jsx: { runtime: "automatic", importSource: "preact" } },
    platform: "browser",
  });
  try {
    const { output } = await build.write({ dir: folder, entryFileNames: "console.js", format: "esm", minify: true });
    return output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  } finally {
    await build.close();
  }
}

if (import.meta.main) await buildConsolePage(resolve(process.argv[2] ?? join(APP, "../page")));
