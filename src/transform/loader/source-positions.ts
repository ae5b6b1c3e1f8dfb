import { SourceMap } from "node:module";
import type { SourceMapPayload } from "node:module";

/** Counted from 1, as messages tell them. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Where in its own file something of a translated module stands: a translation keeps most of the lines
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

  /** `undefined` when nobody knows; `translated` is what V8 tells. */
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
