import { types } from "node:util";
import { firstLine, thrownText } from "./describe-thrown.ts";
import { ModuleRefusedError } from "../module-refused-error.ts";
import type { SourcePositions } from "./source-positions.ts";
import { positionText, stackPlaces } from "./stack-places.ts";
import type { StackPlace } from "./stack-places.ts";
import { nameInRoot } from "./transforms-root.ts";
import type { TransformsRoot } from "./transforms-root.ts";

export interface DescribeFailureOptions {
  /** Real path of the module that was to be loaded. */
  readonly entry: string;
  readonly root: TransformsRoot;
  /** Of the loader that was to load it; without them, columns of errors that were thrown are not told. */
  readonly positions?: SourcePositions | undefined;
}

const { isNativeError } = types;

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
