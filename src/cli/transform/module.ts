/** Finds the module that was named on the command line. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { CODE_EXTENSIONS } from "../../transform/loader/compile-module.ts";
import { containedPath } from "../../transform/loader/containment.ts";
import { CliError } from "../cli-error.ts";
import { printable } from "../printable.ts";

export interface TransformModule {
  /** As a mapping names it: its real path relative to the transforms folder, with `/`. */
  readonly name: string;
  /** Real path. */
  readonly file: string;
}

const MAX_LISTED = 10;

/**
 * `given` is relative to the transforms folder, or else to the current one; either way it has to lie in
 * the transforms folder. Throws a {@link CliError} that says which modules there are.
 */
export function findTransformModule(
  given: string,
  { transformsDir, program }: { readonly transformsDir: string; readonly program: string },
): TransformModule {
  const candidates = [resolve(transformsDir, given), resolve(given)];
  for (const candidate of candidates) {
    const found = containedPath(transformsDir, candidate);
    if (found.ok && isFile(found.path)) return { name: nameOf(found.path, transformsDir), file: found.path };
    if (!found.ok && isFile(candidate)) {
      throw new CliError(`${printable(candidate)} ${found.reason}; a transform is a file inside of ${transformsDir}.`);
    }
  }
  throw new CliError(`There is no file ${printable(given)} in ${transformsDir}${modulesIn(transformsDir, program)}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function nameOf(file: string, transformsDir: string): string {
  return relative(realpathSync(transformsDir), file).split(sep).join("/");
}

function modulesIn(folder: string, program: string): string {
  const names = namesIn(folder).filter(
    (name) => !name.endsWith(".d.ts") && CODE_EXTENSIONS.some((each) => name.endsWith(each)),
  );
  if (names.length === 0) return `. To begin one: ${program} transform new <name>`;
  const more = names.length > MAX_LISTED ? " ..." : ".";
  return `. It has: ${names
    .slice(0, MAX_LISTED)
    .map((name) => printable(name))
    .join(", ")}${more}`;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}
