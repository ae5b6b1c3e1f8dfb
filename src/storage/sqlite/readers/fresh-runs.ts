import type { StoredRun } from "../../delivery-store.ts";
import type { NewRun } from "../../new-delivery.ts";
import { deliveryId, runId, type RunKey } from "../public-id.ts";
import { QUEUED, RUNS_PER_DELIVERY } from "../codes.ts";
import { expectedReplyOutcome } from "./stored-rows.ts";

const MAX_RUNS = 256;
/** A longer text is not kept: together with the number of runs this bounds the memory. */
const MAX_TEXT_CHARS = 16_384;

/**
 * The runs that were accepted last, until they are loaded or change.
 *
 * Most runs are carried out at once, and reading one back costs the main thread more than accepting
 * it. A run has a fixed place, from which a newer one displaces it; a run that is not found here is in
 * the database. (A map would make room as well, but its discarded tables keep what they held alive
 * until the next full collection.)
 */
export class FreshRuns {
  readonly #places: ({ readonly key: RunKey; readonly run: NewRun } | undefined)[] = [];

  constructor() {
    for (let place = 0; place < MAX_RUNS; place++) this.#places.push(undefined);
  }

  add(seq: number, tag: string, runs: readonly NewRun[]): void {
    for (let index = 0; index < runs.length && index < MAX_RUNS; index++) {
      const run = runs[index]!;
      const { length } = run.spec.kind === "wake" ? run.spec.text : run.spec.message;
      if (length > MAX_TEXT_CHARS) continue;
      const key = { seq, tag, run: seq * RUNS_PER_DELIVERY + index };
      this.#places[placeOf(key)] = { key, run };
    }
  }

  /** Gives the run as it is stored, and forgets it. */
  take(key: RunKey): StoredRun | undefined {
    const place = this.#places[placeOf(key)];
    if (place?.key.run !== key.run || place.key.tag !== key.tag) return undefined;
    this.forget(key);
    const { lane, spec } = place.run;
    return {
      runId: runId(key.run, key.tag),
      deliveryId: deliveryId(key.seq, key.tag),
      lane,
      state: "queued",
      spec,
      attempts: [],
      reply: null,
      steps: [],
      replyOutcome: expectedReplyOutcome(spec, QUEUED),
    };
  }

  /** To be called before anything of the run is changed. */
  forget(key: RunKey): void {
    this.#places[placeOf(key)] = undefined;
  }
}

/** Neighbors in order of acceptance have different places. */
function placeOf(key: RunKey): number {
  return (key.seq + (key.run % RUNS_PER_DELIVERY)) % MAX_RUNS;
}
