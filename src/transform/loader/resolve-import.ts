import { realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Jiti } from "jiti";
import { isInside } from "./containment.ts";
import { ModuleRefusedError } from "../errors.ts";
import type { TransformsRoot } from "./containment.ts";

export type ResolvedImport =
  | { readonly kind: "builtin"; readonly name: string }
  /** `file` is a real path inside the transforms folder. */
  | { readonly kind: "file"; readonly file: string };

export interface ResolveImportOptions {
  readonly root: TransformsRoot;
  /** Real path of the importing file. */
  readonly from: string;
  /** Of the importing file. */
  readonly jiti: Jiti;
  /** By which conditions of a package's exports. */
  readonly by: "import" | "require";
}

/**
 * Finds what a transform imports: a builtin of Node, or a file whose real path is inside the
 * transforms folder; its node_modules are part of it, the gateway's are not.
 *
 * Throws {@link ModuleRefusedError} for everything else, URLs of other schemes included.
 */
export function resolveImport(specifier: string, options: ResolveImportOptions): ResolvedImport {
  if (isBuiltin(specifier)) return { kind: "builtin", name: specifier };
  const file = locate(specifier, options);
  if (file === undefined || !isInside(options.root.path, file)) {
    const reason = refusalOf(specifier, { isFound: file !== undefined, ...options });
    throw new ModuleRefusedError(`cannot import ${JSON.stringify(specifier)}: ${reason}`);
  }
  return { kind: "file", file };
}

function locate(specifier: string, { jiti, by }: ResolveImportOptions): string | undefined {
  try {
    const id = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier;
    return realpathSync.native(fileURLToPath(jiti.esmResolve(id, { conditions: ["node", by] })));
  } catch {
    // Nothing of the kind, not the URL of a file, or a package that hides its file.
    return undefined;
  }
}

function refusalOf(specifier: string, { isFound, from, root }: ResolveImportOptions & { isFound: boolean }): string {
  if (hasForeignScheme(specifier)) return "only files, packages and builtins of Node can be imported";
  const isPath = isAbsolute(specifier) || /^(?:\.{1,2}(?:\/|$)|file:)/.test(specifier);
  if (!isPath) return `there is no such package in ${root.name}/node_modules; install it there`;
  // In a sandbox nothing outside is ever found.
  const isOutside = isFound || !isInside(root.path, resolve(dirname(from), specifier));
  return isOutside ? `it lies outside of ${root.name}, the only folder to load from` : "there is no such file";
}

function hasForeignScheme(specifier: string): boolean {
  return /^[a-z][a-z\d+.-]+:/i.test(specifier) && !specifier.startsWith("file:");
}
