/** Runs of a store that several gateways use, of which one carries them out. */
import type { ChangedRun } from "../storage/shared-store.ts";
import type { OpenRun } from "../storage/open-run.ts";
import type { Withdrawal } from "./context.ts";

/** What another gateway carries out; nothing, where this one does. */
export class Elsewhere {
  #isHere = true;
  #open = 0;

  /** True: this gateway carries out the runs. */
  get isHere(): boolean {
    return this.#isHere;
  }

  set isHere(isHere: boolean) {
    this.#isHere = isHere;
    this.#open = 0;
  }

  /** Runs that wait or are active there, as far as it is known. */
  get open(): number {
    return this.#open;
  }

  /** So many wait or are active there by now. */
  count(open: number): void {
    if (!this.#isHere) this.#open = open;
  }

  /** So many more were accepted for it. */
  add(runs: number): void {
    this.count(this.#open + runs);
  }
}

/** The dispatcher that carries the runs out. */
interface Runs {
  knows(runId: string): boolean;
  enqueue(runs: readonly OpenRun[]): void;
  postpone(runId: string, dueAt: number): void;
  withdraw(withdrawal: Withdrawal): void;
  endTurns(runId: string): void;
}

/** Takes up what other gateways have accepted, moved or ended. What is known here already goes on as it is. */
export function reconcile(dispatcher: Runs, changed: readonly ChangedRun[]): void {
  for (const { state, reason, ...run } of changed) {
    const { runId, dueAt } = run;
    const isKnown = dispatcher.knows(runId);
    if (state === "queued" && !isKnown) dispatcher.enqueue([{ ...run, state }]);
    else if (state === "queued" && dueAt !== null) dispatcher.postpone(runId, dueAt);
    else if ((state === "canceled" || state === "skipped") && isKnown) {
      dispatcher.withdraw({ runIds: [runId], state, reason: reason ?? "" });
    }
    // Canceled before its turn was known here.
    else if (state === "canceled" && run.begun) dispatcher.endTurns(runId);
  }
}
