import { readFileSync, statSync } from "node:fs";
import { dirname, extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { Jiti } from "jiti";
import { CODE_EXTENSIONS, compileModule, jitiFor } from "./compile-module.ts";
import { containedPath } from "./containment.ts";
import { ModuleRefusedError } from "../errors.ts";
import { resolveImport } from "./resolve-import.ts";
import type { ResolvedImport } from "./resolve-import.ts";
import { SourcePositions } from "./source-positions.ts";
import type { TransformsRoot } from "./containment.ts";

/** A module in progress or loaded. */
interface LoadedModule {
  readonly file: string;
  readonly jiti: Jiti;
  /** The `module` of the code. */
  readonly module: { readonly id: string; readonly filename: string; exports: unknown; loaded: boolean };
  readonly settled: PromiseWithResolvers<void>;
  /** The module that it awaits now; distinguishes a circle from two modules that need a third. */
  readonly waitsFor: Set<LoadedModule>;
}

/**
 * Loads JavaScript and TypeScript modules of one folder, each once; a new loader reads them again.
 *
 * Every file is read by its real path, which has to be inside the folder: the module asked for, and
 * whatever it reaches by `import`, `import()`, `require`, `require.resolve` and `import.meta.resolve`,
 * when it is loaded and later while it runs. `import()` in text given to `eval` or `Function` fails.
 *
 * That is a guard against mistakes and against links, not a sandbox: builtins of Node are allowed, so
 * a module that means to can read files by `node:fs`, load code by `createRequire` of `node:module`,
 * by `node:vm` or in a worker. A module has all the rights of the process; in a sandbox these are few.
 *
 * - Circular imports see what the other side has exported so far.
 * - CommonJS and ES modules may load each other; `require` of one with a top-level await fails.
 * - A name that an ES module does not export is `undefined` where it is imported, not an error.
 * - Of `import.meta` there are `url`, `filename`, `dirname`, `resolve` and `env`.
 * - Type errors are not looked for; JSX, native addons and WebAssembly files are not loaded.
 */
export class ModuleLoader {
  /** The place in the files of something in a loaded module. */
  readonly positions = new SourcePositions();
  readonly #root: TransformsRoot;
  readonly #provided: ReadonlyMap<string, object>;
  readonly #modules = new Map<string, LoadedModule>();

  /** `provided` are the exports of packages that the modules get from this process, by name. */
  constructor(root: TransformsRoot, options: { readonly provided?: ReadonlyMap<string, object> } = {}) {
    this.#root = root;
    this.#provided = options.provided ?? new Map<string, object>();
  }

  /** The exports of the module in a file, relative to the folder; rejects with whatever keeps it from loading. */
  async load(path: string): Promise<unknown> {
    const found = containedPath(this.#root.path, path);
    if (!found.ok) throw new ModuleRefusedError(`${path} ${found.reason}`);
    if (!statSync(found.path, { throwIfNoEntry: false })?.isFile())
      throw new ModuleRefusedError("there is no such file");
    return await this.#importFile(found.path, undefined);
  }

  #resolve(specifier: string, parent: LoadedModule, by: "import" | "require"): ResolvedImport {
    return resolveImport(specifier, { root: this.#root, from: parent.file, jiti: parent.jiti, by });
  }

  /** Resolves before anything is awaited, so that an error's stack still names the importing line. */
  async #import(specifier: string, parent: LoadedModule): Promise<unknown> {
    const provided = this.#provided.get(specifier);
    if (provided) return provided;
    const found = this.#resolve(specifier, parent, "import");
    if (found.kind === "builtin") return process.getBuiltinModule(found.name);
    return await this.#importFile(found.file, parent);
  }

  async #importFile(file: string, parent: LoadedModule | undefined): Promise<unknown> {
    const known = this.#modules.get(file);
    const wanted = known ?? this.#register(file);
    if (wanted.module.loaded || (parent !== undefined && reaches(wanted, parent))) return wanted.module.exports;
    parent?.waitsFor.add(wanted);
    if (known === undefined) void this.#start(wanted);
    try {
      await wanted.settled.promise;
    } finally {
      parent?.waitsFor.delete(wanted);
    }
    return wanted.module.exports;
  }

  /** Never rejects: the failure goes to those who wait for the module. */
  async #start(wanted: LoadedModule): Promise<void> {
    try {
      await this.#evaluate(wanted, { isAsync: true });
      this.#finish(wanted);
    } catch (error) {
      this.#fail(wanted, error);
    }
  }

  #require(specifier: string, parent: LoadedModule): unknown {
    const provided = this.#provided.get(specifier);
    if (provided) return provided;
    const found = this.#resolve(specifier, parent, "require");
    if (found.kind === "builtin") return process.getBuiltinModule(found.name);
    const known = this.#modules.get(found.file);
    if (known !== undefined) return known.module.exports;
    const wanted = this.#register(found.file);
    try {
      this.#evaluate(wanted, { isAsync: false });
      this.#finish(wanted);
    } catch (error) {
      this.#fail(wanted, error);
      throw error;
    }
    return wanted.module.exports;
  }

  #register(file: string): LoadedModule {
    const settled = Promise.withResolvers<void>();
    // Those that wait get the failure; without any, it must not end the process.
    settled.promise.catch(() => {});
    const module = { id: file, filename: file, exports: {}, loaded: false };
    const wanted = { file, jiti: jitiFor(file), module, settled, waitsFor: new Set<LoadedModule>() };
    this.#modules.set(file, wanted);
    return wanted;
  }

  #finish(wanted: LoadedModule): void {
    wanted.module.loaded = true;
    wanted.settled.resolve();
  }

  /** The next import tries again, as with CommonJS. */
  #fail(wanted: LoadedModule, error: unknown): void {
    this.#modules.delete(wanted.file);
    wanted.settled.reject(error);
  }

  #evaluate(wanted: LoadedModule, { isAsync }: { isAsync: boolean }): unknown {
    const { file, jiti, module } = wanted;
    const extension = extname(file);
    if (extension === ".json") {
      module.exports = parseJson(file);
      return undefined;
    }
    if (extension !== "" && !CODE_EXTENSIONS.includes(extension)) {
      throw new ModuleRefusedError(`${extension} files are not loaded; write one of ${CODE_EXTENSIONS.join(" ")}`);
    }
    const body = compileModule(file, jiti, { isAsync, positions: this.positions });
    const importModule = (specifier: string): Promise<unknown> => this.#import(specifier, wanted);
    const resolveUrl = (specifier: string): string => urlOf(this.#resolve(specifier, wanted, "import"));
    const { exports } = module;
    return body.call(exports, exports, this.#requireOf(wanted), module, file, dirname(file), importModule, resolveUrl);
  }

  #requireOf(wanted: LoadedModule): unknown {
    const resolve = (specifier: string): string => pathOf(this.#resolve(specifier, wanted, "require"));
    return Object.assign((specifier: string) => this.#require(specifier, wanted), {
      resolve,
      cache: {},
      main: undefined,
    });
  }
}

/** True when a module awaits another, itself or by what it awaits; ends, since no circle is ever awaited. */
function reaches(from: LoadedModule, to: LoadedModule): boolean {
  return from === to || [...from.waitsFor].some((next) => reaches(next, to));
}

function pathOf(found: ResolvedImport): string {
  return found.kind === "file" ? found.file : found.name;
}

function urlOf(found: ResolvedImport): string {
  if (found.kind === "file") return pathToFileURL(found.file).href;
  return found.name.startsWith("node:") ? found.name : `node:${found.name}`;
}

function parseJson(file: string): unknown {
  const text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text);
  } catch (error) {
    // As syntax errors of code do, so that the message names the file.
    throw Object.assign(error as SyntaxError, { stack: `${file}\n${String(error)}` });
  }
}
