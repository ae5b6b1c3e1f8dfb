/** Source maps of the bundle: the lines of our own files, and nothing else, in a tenth of the bytes. */
import { type SourceMapMappings, type SourceMapSegment, decode, encode } from "@jridgewell/sourcemap-codec";

export interface LineMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * Keeps where a line of one of our files begins, and where none does. A stack trace names the line; no one steps
 * through packages.
 */
export function lineMap({ version, sources, mappings }: LineMap): LineMap {
  const own = sources.filter(isOwn);
  const indexes = sources.map((source) => own.indexOf(source));
  const lines: SourceMapMappings = decode(mappings).map((line) => [...linesIn(line, indexes)]);
  return { version, sources: own, mappings: encode(lines) };
}

function isOwn(source: string): boolean {
  return !source.includes("node_modules/") && !source.includes("\0");
}

function* linesIn(segments: readonly SourceMapSegment[], indexes: readonly number[]): Generator<SourceMapSegment> {
  let before = "";
  for (const [column, source, line] of segments) {
    const index = source === undefined || line === undefined ? -1 : (indexes[source] ?? -1);
    const place = index < 0 ? "" : `${index}:${line}`;
    if (place !== before) yield index < 0 ? [column] : [column, index, line!, 0];
    before = place;
  }
}
