import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { RUNS_PER_DELIVERY } from "../codes.ts";

/** Deliveries that one page searches, and bytes of their texts: reading these is what takes time. */
export const SEARCHED_DELIVERIES = 250;
const SEARCHED_BYTES = 1024 * 1024;

/** Whether a delivery contains a text, and the bytes that may have been read to see it. */
const FOUND_ROW = { bytes: "integer", found: "integer" } as const satisfies RowShape;

/** Finds deliveries by a text in what a person sees of them, without regard to the case of ASCII letters. */
export class DeliveryTextSearch {
  readonly #search: RowQuery<RowOf<typeof FOUND_ROW>>;

  constructor(reader: DatabaseSync) {
    const contains = (text: string) => `instr(lower(${text}), ?2) > 0`;
    const ofRuns = (id: string) => `${id} >= ?1 * ${RUNS_PER_DELIVERY} AND ${id} < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    // A text that could not be stored as one is within the spec.
    const text = "coalesce(text, spec ->> '$.message', spec ->> '$.text')";
    this.#search = rowQuery(
      reader,
      FOUND_ROW,
      `SELECT (SELECT coalesce(sum(octet_length(text)), 0) FROM contents WHERE ${ofRuns("id")}) AS bytes,
        coalesce(${contains("name")} OR ${contains("coalesce(event, '')")} OR ${contains("coalesce(reason, '')")}
          OR EXISTS (SELECT 1 FROM runs WHERE ${ofRuns("id")} AND ${contains("runs.reason")})
          OR EXISTS (SELECT 1 FROM contents WHERE ${ofRuns("id")} AND ${contains(text)}), 0) AS found
      FROM deliveries WHERE seq = ?1`,
    );
  }

  /**
   * The first of the rows that contain the text, up to a limit. `next` is the seq below which the search
   * goes on when it did not come to the end of the rows.
   */
  search<Row extends { readonly seq: number }>(
    rows: readonly Row[],
    { text, limit }: { readonly text: string; readonly limit: number },
  ): { readonly found: Row[]; readonly next: number | undefined } {
    const wanted = text.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase());
    const found: Row[] = [];
    let bytes = 0;
    for (const [index, row] of rows.entries()) {
      const result = this.#search.get(row.seq, wanted);
      bytes += result?.bytes ?? 0;
      if (result?.found === 1) found.push(row);
      const isEnough = found.length === limit || bytes >= SEARCHED_BYTES;
      if (isEnough && index < rows.length - 1) return { found, next: row.seq };
    }
    return { found, next: undefined };
  }
}
