import type { DatabaseSync } from "node:sqlite";
import type { RunSpec } from "../../../core/delivery.ts";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { type CoalescedCalls, MAX_COALESCED_CHARS, MAX_COALESCED_TEXTS } from "../../delivery-store.ts";
import { ENDED_COALESCED, RUNS_PER_DELIVERY } from "../codes.ts";
import { restoreSpec, textOf } from "../stored-spec.ts";

const CALL_ROW = { spec: "text", text: "text?" } as const satisfies RowShape;
type CallRow = RowOf<typeof CALL_ROW>;

/** Reads the calls that were coalesced into a run; the latest of them, of which no more than a bound is read. */
export class CoalescedCallsReader {
  readonly #latest: RowQuery<CallRow>;

  constructor(reader: DatabaseSync) {
    this.#latest = rowQuery(
      reader,
      CALL_ROW,
      `SELECT spec, text FROM deliveries CROSS JOIN contents ON id = seq * ${RUNS_PER_DELIVERY}
      WHERE related = ? AND ended = ${ENDED_COALESCED} AND spec IS NOT NULL
      ORDER BY seq DESC LIMIT ${MAX_COALESCED_TEXTS}`,
    );
  }

  /** `undefined` when none was coalesced into the run of delivery `seq`, whose own spec is `own`. */
  read(seq: number, own: RunSpec, count: number): CoalescedCalls | undefined {
    if (count < 2) return undefined;
    let latest = own;
    const texts: string[] = [];
    let room = MAX_COALESCED_CHARS;
    /** False when there is no room for it, and so for none before it. */
    const add = (text: string): boolean => {
      room -= text.length;
      if (texts.length > 0 && room < 0) return false;
      texts.push(text);
      return texts.length < MAX_COALESCED_TEXTS;
    };
    let isRoom = true;
    for (const stored of this.#latest.iterate(seq)) {
      const spec = texts.length === 0 || stored.text === null ? restoreCall(stored) : undefined;
      if (texts.length === 0) latest = spec!;
      isRoom = add(stored.text ?? textOf(spec!));
      if (!isRoom) break;
    }
    if (isRoom) add(textOf(own));
    return { count, latest, texts: texts.toReversed() };
  }
}

function restoreCall({ spec, text }: CallRow): RunSpec {
  return restoreSpec({ json: spec, text });
}
