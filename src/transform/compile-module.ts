import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { Script } from "node:vm";
import { createJiti } from "jiti";
import type { Jiti, JitiOptions, TransformOptions } from "jiti";

/** A module's text as a function of what it may refer to; the names are those that jiti's output uses. */
export type ModuleBody = (
  this: unknown,
  exports: unknown,
  require: unknown,
  module: unknown,
  filename: string,
  dirname: string,
  jitiImport: (specifier: string) => Promise<unknown>,
  jitiESMResolve: (specifier: string) => string,
) => unknown;

export const CODE_EXTENSIONS: readonly string[] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];

/**
 * Nothing is left to a default, since defaults come from environment variables, and the cache's one
 * would run whatever lies in a folder that every user of the machine can write to.
 */
const OPTIONS = {
  fsCache: false,
  rebuildFsCache: false,
  moduleCache: false,
  tryNative: false,
  esmEvalTempFile: false,
  debug: false,
  sourceMaps: false,
  interopDefault: true,
  jsx: false,
  tsconfigPaths: false,
  extensions: [...CODE_EXTENSIONS, ".json"],
  alias: {},
  virtualModules: {},
  nativeModules: [],
  transformModules: [],
} satisfies JitiOptions;

const PREFIX = "exports, require, module, __filename, __dirname, jitiImport, jitiESMResolve";
const ERROR_PREFIX = "exports.__JITI_ERROR__ = ";

/** A jiti that resolves what `file` imports and translates it; it never gets to load anything. */
export function jitiFor(file: string): Jiti {
  return createJiti(file, OPTIONS);
}

/**
 * Reads a module and makes it a function: types are stripped, `import` and `export` become calls of
 * what the function is given. `isAsync` allows a top-level await. Line numbers are the file's own.
 *
 * Only the translation is jiti's. Its own loading hands .mjs, .cjs and .json files, and all that
 * these import, to Node, which checks no path and never lets go of an old version.
 *
 * Throws SyntaxError; its `stack` begins with `<file>:<line>:<column>`.
 */
export function compileModule(file: string, jiti: Jiti, { isAsync }: { isAsync: boolean }): ModuleBody {
  const code = jiti.transform({
    source: readFileSync(file, "utf8"),
    filename: file,
    ts: /\.[cm]?ts$/.test(file),
    async: isAsync,
    jsx: false,
    babel: { sourceType: sourceTypeOf(file), parserOpts: { allowReturnOutsideFunction: true } },
  } satisfies TransformOptions);
  if (code.startsWith(ERROR_PREFIX)) throw syntaxError(file, code.slice(ERROR_PREFIX.length));
  const head = `(${isAsync ? "async " : ""}function (${PREFIX}) {`;
  // Without a callback for import(), one that is made by eval() is refused by Node.
  const script = new Script(`${head}${code}\n})`, { filename: file });
  return script.runInThisContext() as ModuleBody;
}

/** A file that says neither by its name nor by its statements what it is, is CommonJS, and sloppy. */
function sourceTypeOf(file: string): "module" | "script" | "unambiguous" {
  const extension = extname(file);
  if (extension === ".mjs" || extension === ".mts") return "module";
  return extension === ".cjs" ? "script" : "unambiguous";
}

function syntaxError(file: string, json: string): SyntaxError {
  const found = JSON.parse(json) as { line: number; column: number; message: string };
  const error = new SyntaxError(found.message.trim());
  error.stack = `${file}:${found.line}:${found.column + 1}\n${error.stack}`;
  return error;
}
