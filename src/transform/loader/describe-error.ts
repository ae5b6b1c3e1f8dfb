import { sep } from "node:path";
import { inspect, types } from "node:util";
import { ModuleRefusedError } from "../errors.ts";
import { nameInRoot, type TransformsRoot } from "./containment.ts";
import { positionText, type SourcePositions, type StackPlace, stackPlaces } from "./source-positions.ts";

export interface DescribeThrownOptions {
  readonly root: TransformsRoot;
  readonly positions: SourcePositions;
}

const { isNativeError } = types;
const MAX_CHARACTERS = 300;

/**
 * Tells what a call of a transform threw, and where: `threw TypeError: x is not a function
 * (hooks/transforms/a.ts:3:9)`, one line of a bounded length. The place is the innermost in the author's
 * own files, else in a package. Never throws, though a getter of the error may run for ever.
 */
export function describeThrown(error: unknown, { root, positions }: DescribeThrownOptions): string {
  try {
    const places = stackPlaces(error, root.path, positions);
    const place = places.find(({ file }) => !file.includes(`${sep}node_modules${sep}`)) ?? places[0];
    const where = place === undefined ? "" : ` (${nameInRoot(place.file, root)}${positionText(place)})`;
    return `threw ${thrownText(error)}${where}`;
  } catch {
    return "threw something that throws when it is looked at";
  }
}

/** `TypeError: x is not a function`, the first line only; of what is no error, how Node shows it. */
export function thrownText(error: unknown): string {
  // No code of the value's own but getters of an error: no inspect.custom, no trap of a proxy.
  if (!isNativeError(error)) return firstLine(inspect(error, { depth: 0, customInspect: false }));
  const { name, message }: { name: unknown; message: unknown } = error;
  return firstLine(message === "" ? String(name) : `${String(name)}: ${String(message)}`);
}

/** The first line, cut to 300 characters. */
function firstLine(text: string): string {
  const line = text.split(/\r?\n/, 1).join("");
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}...` : line;
}

export interface DescribeFailureOptions {
  /** Real path of the module that was to be loaded. */
  readonly entry: string;
  readonly root: TransformsRoot;
  /** The positions of the loader that was to load it; without them, errors that were thrown have no columns. */
  readonly positions?: SourcePositions | undefined;
}

/**
 * Tells in one line why a module could not be loaded and where: `hooks/transforms/a.ts:3:14:
 * Unexpected token`. Never throws, though a getter of a thrown error may run for ever.
 */
export function describeFailure(error: unknown, { entry, root, positions }: DescribeFailureOptions): string {
  try {
    const [place] = stackPlaces(error, root.path, positions);
    const where =
      place === undefined ? nameInRoot(entry, root) : `${nameInRoot(place.file, root)}${positionText(place)}`;
    const via = place === undefined || place.file === entry ? "" : ` (loaded by ${nameInRoot(entry, root)})`;
    return `${where}: ${loadFailureReason(error, place)}${via}`;
  } catch {
    return `${nameInRoot(entry, root)}: throws something, while it is loaded, that throws when it is looked at`;
  }
}

function loadFailureReason(error: unknown, place: StackPlace | undefined): string {
  const isOwnWord = error instanceof ModuleRefusedError || place?.isSyntax;
  return isOwnWord && isNativeError(error)
    ? firstLine(error.message)
    : `throws while it is loaded: ${thrownText(error)}`;
}
