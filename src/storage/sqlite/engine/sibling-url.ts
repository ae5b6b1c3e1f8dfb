import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The URL of a module beside `importMetaUrl`, with its extension: sources run as `.ts`, the package
 * as `.js`. `name` is without extension, such as `writer-worker`.
 */
export function siblingUrl(name: string, importMetaUrl: string): URL {
  return new URL(`./${name}${extname(fileURLToPath(importMetaUrl))}`, importMetaUrl);
}
