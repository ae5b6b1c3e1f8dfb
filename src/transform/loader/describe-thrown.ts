import { sep } from "node:path";
import { inspect, types } from "node:util";
import type { SourcePositions } from "./source-positions.ts";
import { positionText, stackPlaces } from "./stack-places.ts";
import { nameInRoot } from "./transforms-root.ts";
import type { TransformsRoot } from "./transforms-root.ts";

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
export function firstLine(text: string): string {
  const line = text.split(/\r?\n/, 1).join("");
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}...` : line;
}
