import { relative, sep } from "node:path";

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
