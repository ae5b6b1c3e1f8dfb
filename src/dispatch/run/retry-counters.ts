/** The counters of a run that is tried again; in memory only. */
export interface RetryCounter {
  /** Times that the host could not begin it. */
  refusals: number;
  /** Times that its reply was sent in vain, to the target and to the fallback. */
  sends: number;
  fallbackSends: number;
  /** Times that its callback was posted in vain. */
  posts: number;
  /** Why the target will not take the reply; the fallback's turn has come. */
  unsent: string | undefined;
  /** Why the delivery ended as it did. */
  delivery: string | undefined;
}

const MAX_NOTES = 10_000;

/**
 * Notes of runs that are tried again, the oldest forgotten when there are too many. A run whose note is
 * lost, as by a restart, has its tries counted from zero: it is tried more often, never less.
 */
export class RetryCounters {
  readonly #notes = new Map<string, RetryCounter>();
  readonly #max: number;

  constructor(max = MAX_NOTES) {
    this.#max = max;
  }

  /** The note of a run; a new one when there is none. */
  of(runId: string): RetryCounter {
    const known = this.#notes.get(runId);
    if (known) return known;
    if (this.#notes.size >= this.#max) {
      for (const oldest of this.#notes.keys()) {
        this.#notes.delete(oldest);
        break;
      }
    }
    const note: RetryCounter = {
      refusals: 0,
      sends: 0,
      fallbackSends: 0,
      posts: 0,
      unsent: undefined,
      delivery: undefined,
    };
    this.#notes.set(runId, note);
    return note;
  }

  /** The note of a run, if there is one. */
  peek(runId: string): RetryCounter | undefined {
    return this.#notes.get(runId);
  }

  forget(runId: string): void {
    this.#notes.delete(runId);
  }
}
