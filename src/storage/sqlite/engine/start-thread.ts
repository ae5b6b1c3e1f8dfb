import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";

/** The start options of a thread. */
export interface ThreadStart {
  /** The name that tools show in a list of threads. */
  readonly name: string;
  readonly workerData: unknown;
}

/**
 * Starts the module `entry` beside `importMetaUrl` as a thread. `entry` is without extension, such as `writer-worker`.
 *
 * @throws what `new Worker` throws when the process can have no more threads.
 */
export function startThread(entry: string, importMetaUrl: string, { name, workerData }: ThreadStart): Worker {
  const url = siblingUrl(entry, importMetaUrl);
  if (extname(url.pathname) === ".ts") keepWebAssemblyCode();
  // A thread takes no arguments of the process: they are those of the host, and meant for its own modules.
  return new Worker(url, { name, workerData, execArgv: [] });
}

/**
 * Node strips types with WebAssembly, again in each thread. V8 collects the code of threads that ended while another
 * compiles the same, and now and then frees some of it twice, which ends the process
 * (https://github.com/nodejs/node/issues/64500). Compiled sources, which is what is installed, need no WebAssembly here.
 */
function keepWebAssemblyCode(): void {
  setFlagsFromString("--no-wasm-code-gc");
}

/**
 * The URL of a module beside `importMetaUrl`, with its extension: sources run as `.ts`, the package
 * as `.js`. `name` is without extension, such as `writer-worker`.
 */
export function siblingUrl(name: string, importMetaUrl: string): URL {
  return new URL(`./${name}${extname(fileURLToPath(importMetaUrl))}`, importMetaUrl);
}
