import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Findings } from "./errors.ts";
import { HooksSchema } from "./hooks.ts";

const WHERE = "hooks.transformsDir";

/**
 * The folder of transform modules as an absolute path within `<configDir>/hooks/transforms`
 * (specification 2.1). It is compared as text here, symbolic links where modules are loaded.
 */
export function readTransformsDir(written: string | undefined, configDir: string, findings: Findings): string {
  const root = join(configDir, "hooks", "transforms");
  const given = written?.trim() || HooksSchema.properties.transformsDir.default;
  const folder = resolve(root, given);
  const way = relative(root, folder);
  const leaves = way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way);
  if (leaves || given.startsWith("~") || given.includes("\0")) {
    findings.refuse(WHERE, `must be a folder within ${root}; write it relative to that folder`);
  }
  return folder;
}
