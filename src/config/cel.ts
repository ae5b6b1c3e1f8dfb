import { createRequire } from "node:module";
import type * as celModule from "./cel-module.ts";

type CelLibrary = typeof celModule;

let library: CelLibrary | undefined;

/**
 * The CEL library, loaded when a configuration has its first condition: it is a fifth of the code of the gateway, and
 * costs 10 MiB. Configurations are read synchronously, so it is required and not imported.
 */
export function cel(): CelLibrary {
  // Sources run as `.ts`, the bundle as `.js`.
  const file = import.meta.url.endsWith(".ts") ? "./cel-module.ts" : "./cel-module.js";
  library ??= createRequire(import.meta.url)(file) as CelLibrary;
  return library;
}
