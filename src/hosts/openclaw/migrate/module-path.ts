import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { MigrationNotes } from "./notes.ts";

export interface ModuleFolders {
  /** Absolute. */
  readonly configDir: string;
  /** `hooks.transformsDir`, with its references replaced. */
  readonly transformsDir: string | undefined;
  readonly exists: (file: string) => boolean;
}

/**
 * A transform's module as a path below the folder of transforms. OpenClaw until 2026.2.12 took absolute
 * paths, and relative ones from the configuration's folder; what is not below ours stays as it is written,
 * and reading it tells why it is refused.
 */
export function modulePath(
  written: string,
  where: string,
  { configDir, transformsDir, exists }: ModuleFolders,
  notes: MigrationNotes,
): string {
  const module = written.trim();
  const folder = resolve(join(configDir, "hooks", "transforms"), transformsDir?.trim() ?? ".");
  if (module === "") return module;
  const old = resolve(configDir, module);
  const isOld = isAbsolute(module) || (!exists(resolve(folder, module)) && exists(old));
  if (!isOld) return module;
  const way = relative(folder, old);
  if (way === "" || way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) return module;
  notes.add("written", `is written as ${JSON.stringify(way)}, as seen from the folder of transforms.`, where);
  return way;
}
