import { readFileSync } from "node:fs";
import { extname, sep } from "node:path";
import { Script } from "node:vm";
import { createJiti } from "jiti";
import type { Jiti, JitiOptions, TransformOptions } from "jiti";
import type { SourcePositions } from "./source-positions.ts";

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
const MAP_PREFIX = "//# sourceMappingURL=data:application/json;charset=utf-8;base64,";

export interface CompileOptions {
  readonly isAsync: boolean;
  readonly positions: SourcePositions;
}

/** A jiti that resolves what `file` imports and translates it; it never gets to load anything. */
export function jitiFor(file: string): Jiti {
  return createJiti(file, OPTIONS);
}

/**
 * Reads a module and makes it a function: types are stripped, `import` and `export` become calls of
 * what the function is given. `isAsync` allows a top-level await. Line numbers are the file's own, and
 * `positions` gets its columns, unless it belongs to a package, whose text the owner does not edit.
 *
 * Only the translation is jiti's. Its own loading hands .mjs, .cjs and .json files, and all that
 * these import, to Node, which checks no path and never lets go of an old version.
 *
 * Throws SyntaxError; its `stack` begins with `<file>:<line>:<column>`, or the file where nothing is known.
 */
export function compileModule(file: string, jiti: Jiti, options: CompileOptions): ModuleBody {
  const { isAsync, positions } = options;
  const isOfPackage = file.includes(`${sep}node_modules${sep}`);
  const translated = jiti.transform({
    source: readFileSync(file, "utf8"),
    filename: file,
    ts: /\.[cm]?ts$/.test(file),
    async: isAsync,
    jsx: false,
    babel: {
      sourceType: sourceTypeOf(file),
      parserOpts: { allowReturnOutsideFunction: true },
      // A map that the file names itself would be looked for on the disk.
      inputSourceMap: false,
      ...(!isOfPackage && { sourceMaps: "inline", sourceFileName: "module" }),
    },
  } satisfies TransformOptions);
  if (translated.startsWith(ERROR_PREFIX)) throw syntaxError(file, translated.slice(ERROR_PREFIX.length));
  const at = isOfPackage ? -1 : translated.lastIndexOf(MAP_PREFIX);
  const code = at < 0 ? translated : translated.slice(0, at);
  if (at >= 0) positions.keep(file, translated.slice(at + MAP_PREFIX.length));
  const head = `(${isAsync ? "async " : ""}function (${PREFIX}) {`;
  try {
    // Without a callback for import(), one that is made by eval() is refused by Node.
    const script = new Script(`${head}${code}\n})`, { filename: file, columnOffset: -head.length });
    return script.runInThisContext() as ModuleBody;
  } catch (error) {
    throw withColumn(error, { file, positions, head });
  }
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
  // For a few errors, such as a name that is declared twice, jiti gives no position.
  const position = found.line > 0 ? `:${found.line}:${found.column + 1}` : "";
  error.stack = `${file}${position}\n${error.stack}`;
  return error;
}

/** V8 says `<file>:<line>`, and the column by carets below the text of that line. */
function withColumn(
  error: unknown,
  { file, positions, head }: { file: string; positions: SourcePositions; head: string },
): unknown {
  if (!(error instanceof SyntaxError) || error.stack === undefined) return error;
  const [first = "", text = "", carets = "", ...rest] = error.stack.split("\n");
  const line = Number(/:(\d+)$/.exec(first)?.[1]);
  if (!first.startsWith(`${file}:`) || !carets.includes("^")) return error;
  const column = carets.indexOf("^") + 1 - (line === 1 ? head.length : 0);
  const found = positions.find(file, { line, column }) ?? { line, column };
  error.stack = [`${file}:${found.line}:${found.column}`, text, carets, ...rest].join("\n");
  return error;
}
