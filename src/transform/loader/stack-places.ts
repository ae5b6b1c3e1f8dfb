import { isAbsolute } from "node:path";
import { types } from "node:util";
import { isInside } from "./containment.ts";
import type { SourcePositions } from "./source-positions.ts";

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
