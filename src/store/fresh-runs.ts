import type { NewRun, StoredRun } from "./delivery-store.ts";
import { QUEUED } from "./sqlite-codes.ts";
import { expectedOutcome } from "./stored-rows.ts";

const MAX_RUNS = 256;
/** A longer text is not kept: together with the number of runs this bounds the memory. */
const MAX_TEXT_CHARS = 16_384;

/**
 * The runs that were accepted last, as they are stored, until they are loaded or change.
 *
 * Most runs are carried out at once, and reading one back costs the main thread as much as accepting
 * it. The oldest make room for new ones; whoever is not found here is in the database.
 */
export class FreshRuns {
  readonly #runs = new Map<string, StoredRun>();

  add(deliveryId: string, runIds: readonly string[], runs: readonly NewRun[]): void {
    for (let index = 0; index < runs.length && index < MAX_RUNS; index++) {
      const { lane, spec } = runs[index]!;
      const text = spec.kind === "wake" ? spec.text : spec.message;
      if (text.length > MAX_TEXT_CHARS) continue;
      const runId = runIds[index]!;
      if (this.#runs.size >= MAX_RUNS) this.#forgetOldest();
      this.#runs.set(runId, {
        runId,
        deliveryId,
        lane,
        state: "queued",
        spec,
        attempts: [],
        reply: null,
        steps: [],
        delivery: expectedOutcome(spec, QUEUED),
      });
    }
  }

  /** Gives the run and forgets it. */
  take(runId: string): StoredRun | undefined {
    const run = this.#runs.get(runId);
    if (run !== undefined) this.#runs.delete(runId);
    return run;
  }

  /** To be called before anything of the run is changed. */
  forget(runId: string): void {
    this.#runs.delete(runId);
  }

  #forgetOldest(): void {
    for (const runId of this.#runs.keys()) {
      this.#runs.delete(runId);
      return;
    }
  }
}
