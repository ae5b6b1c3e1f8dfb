import { SourceMap, type SourceMapPayload } from "node:module";
import { isAbsolute } from "node:path";
import { types } from "node:util";
import { isInside } from "./containment.ts";

/** A place in a file of a folder; what is known of it is exact. */
export interface StackPlace {
  /** Real path. */
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** The text itself is at fault, not something that it did. */
  readonly isSyntax: boolean;
}

const { isNativeError } = types;
/** A stack is what the error's maker says, and may be long. */
const MAX_STACK = 20_000;
const MAX_FRAMES = 50;

/**
 * The places within a folder that an error's stack names, innermost first: that of a syntax error is its
 * first line. Empty for whatever is not an error or has no stack that can be read. May run the error's own
 * getters, and throws what they throw.
 */
export function stackPlaces(error: unknown, root: string, positions?: SourcePositions): readonly StackPlace[] {
  if (!isNativeError(error)) return [];
  const { stack } = error;
  if (typeof stack !== "string") return [];
  const isOurs = (file: string | undefined): file is string =>
    file !== undefined && isAbsolute(file) && isInside(root, file);
  const [first = "", ...frames] = stack.slice(0, MAX_STACK).split("\n");
  const [, source, line, column] = /^(.+?)(?::(\d+))?(?::(\d+))?$/.exec(first) ?? [];
  if (isOurs(source)) return [{ file: source, line: countOf(line), column: countOf(column), isSyntax: true }];
  const places: StackPlace[] = [];
  for (const frame of frames.slice(0, MAX_FRAMES)) {
    const [, file, frameLine, frameColumn] = /^\s+at (?:.*? \()?(?:async )?(.+?):(\d+):(\d+)\)?$/.exec(frame) ?? [];
    if (!isOurs(file)) continue;
    const translated = { line: Number(frameLine), column: Number(frameColumn) };
    // Lines are kept by the translation, columns are not.
    const found = positions?.find(file, translated) ?? { line: translated.line, column: undefined };
    places.push({ file, ...found, isSyntax: false });
  }
  return places;
}

/** `:3:9`, or as much of it as is known. */
export function positionText({ line, column }: StackPlace): string {
  return [line, column].map((count) => (count === undefined ? "" : `:${count}`)).join("");
}

function countOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

/** Counted from 1, as in messages. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * The place in its own file of something in a translated module: a translation keeps most of the lines
 * and moves the columns. What it keeps of a module is text; nothing is decoded before something fails.
 */
export class SourcePositions {
  readonly #encoded = new Map<string, string>();
  readonly #maps = new Map<string, SourceMap>();

  /** `encoded` is a source map in base64; the newest of a file counts. */
  keep(file: string, encoded: string): void {
    this.#encoded.set(file, encoded);
    this.#maps.delete(file);
  }

  /** `undefined` when the place is not known; `translated` is V8's. */
  find(file: string, translated: Position): Position | undefined {
    const entry = this.#mapOf(file)?.findEntry(translated.line - 1, translated.column - 1);
    if (entry === undefined || !("originalLine" in entry)) return undefined;
    return { line: entry.originalLine + 1, column: entry.originalColumn + 1 };
  }

  #mapOf(file: string): SourceMap | undefined {
    const known = this.#maps.get(file);
    const encoded = this.#encoded.get(file);
    if (known !== undefined || encoded === undefined) return known;
    const map = new SourceMap(JSON.parse(Buffer.from(encoded, "base64").toString()) as SourceMapPayload);
    this.#maps.set(file, map);
    return map;
  }
}
