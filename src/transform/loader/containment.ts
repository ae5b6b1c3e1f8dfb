import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

export type ContainedPath =
  /** Absolute, without symbolic links in whatever part of it exists. */
  | { readonly ok: true; readonly path: string }
  /** `reason` continues a sentence that begins with the path: `lies outside`. */
  | { readonly ok: false; readonly reason: string };

/**
 * Resolves `given` against the folder `root` and checks that it stays inside.
 *
 * Neither has to exist: of what is missing, the nearest existing ancestor counts. The path must be
 * inside as written, and its real path inside the real path of `root`; links within the folder are
 * fine, `root` may be a link itself, and a link to nothing is refused since no one knows where it
 * will lead. `root` is inside itself, and an absolute `given` is judged like any other. Never throws.
 */
export function containedPath(root: string, given: string): ContainedPath {
  const folder = resolve(root);
  const target = resolve(folder, given);
  if (!isInside(folder, target)) return { ok: false, reason: "lies outside" };
  try {
    const path = realPathOf(target);
    if (!isInside(realPathOf(folder), path)) return { ok: false, reason: "leads outside by a link" };
    return { ok: true, path };
  } catch (error) {
    return { ok: false, reason: `cannot be resolved (${codeOf(error)})` };
  }
}

/** True when a path is a folder or lies below it, as written; both are absolute and normalized. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The real path of the nearest ancestor that exists, and the rest as written. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  if (isLink(path)) throw Object.assign(new Error("a link to nothing"), { code: "a link to nothing" });
  const parent = dirname(path);
  return parent === path ? path : join(realPathOf(parent), basename(path));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

/** The folder whose files may be loaded, `hooks.transformsDir`. */
export interface TransformsRoot {
  /** Real path, as far as it exists. */
  readonly path: string;
  /** As messages name it, relative to the config folder: `hooks/transforms`. */
  readonly name: string;
}

/** A file of the folder as messages name it: `hooks/transforms/github.ts`; `file` is a real path. */
export function nameInRoot(file: string, root: TransformsRoot): string {
  return `${root.name}/${relative(root.path, file).split(sep).join("/")}`;
}
