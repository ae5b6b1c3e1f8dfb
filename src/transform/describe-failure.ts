import { isAbsolute } from "node:path";
import { inspect } from "node:util";
import { isInside } from "./containment.ts";
import { ModuleRefusedError } from "./module-refused-error.ts";
import { nameInRoot } from "./transforms-root.ts";
import type { TransformsRoot } from "./transforms-root.ts";

export interface DescribeFailureOptions {
  /** Real path of the module that was to be loaded. */
  readonly entry: string;
  readonly root: TransformsRoot;
}

interface Place {
  readonly file: string;
  readonly position: string;
  /** The text itself is at fault, so the message needs no introduction. */
  readonly isSyntax: boolean;
}

const MAX_CHARACTERS = 300;

/**
 * Tells in one line why a module could not be loaded and where: `hooks/transforms/a.ts:3:14:
 * Unexpected token`. The column is known for syntax errors only: what is thrown tells the line of
 * the translated text, which is the file's, and a column, which is not.
 */
export function describeFailure(error: unknown, { entry, root }: DescribeFailureOptions): string {
  const place = placeOf(error, root.path);
  const where = place === undefined ? nameInRoot(entry, root) : `${nameInRoot(place.file, root)}${place.position}`;
  const via = place === undefined || place.file === entry ? "" : ` (loaded by ${nameInRoot(entry, root)})`;
  return `${where}: ${reasonOf(error, place)}${via}`;
}

function reasonOf(error: unknown, place: Place | undefined): string {
  if (!(error instanceof Error)) return `throws while it is loaded: ${oneLine(inspect(error, { depth: 0 }))}`;
  const message = oneLine(error.message);
  if (error instanceof ModuleRefusedError || place?.isSyntax) return message;
  return `throws while it is loaded: ${error.name}: ${message}`;
}

function oneLine(text: string): string {
  const line = text.split(/\r?\n/, 1).join("");
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}...` : line;
}

/** From the first line of a syntax error's stack, else from the innermost frame within the folder. */
function placeOf(error: unknown, root: string): Place | undefined {
  if (!(error instanceof Error) || typeof error.stack !== "string") return undefined;
  const isOurs = (file: string | undefined): file is string =>
    file !== undefined && isAbsolute(file) && isInside(root, file);
  const [first = "", ...frames] = error.stack.split("\n");
  const [, source, position = ""] = /^(.+?)((?::\d+){0,2})$/.exec(first) ?? [];
  if (isOurs(source)) return { file: source, position, isSyntax: true };
  for (const frame of frames) {
    const [, file, line] = /^\s+at (?:.*? \()?(?:async )?(.+?):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (isOurs(file)) return { file, position: `:${line}`, isSyntax: false };
  }
  return undefined;
}
