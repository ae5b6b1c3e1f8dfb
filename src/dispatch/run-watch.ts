/** A watch on active runs. */
export interface Watching {
  /** True once all of them are settled; false when the time is up or the watch has ended. */
  readonly settled: Promise<boolean>;
  /** Whole replies of those that were settled while they were watched, by run. */
  readonly replies: ReadonlyMap<string, string>;
  /** Ends the watch. A second call does nothing. */
  end(): void;
}

interface Watcher {
  readonly open: Set<string>;
  readonly replies: Map<string, string>;
  finish(settled: boolean): void;
}

/**
 * Knows who waits for which runs to be settled.
 *
 * It holds nothing of unwatched runs; its callers bound the number of watches. A run that was settled before
 * is not reported: watch first, then read the store.
 */
export class RunWatch {
  readonly #byRun = new Map<string, Set<Watcher>>();
  readonly #watchers = new Set<Watcher>();
  #closed = false;

  /** The number of callers who wait. */
  get count(): number {
    return this.#watchers.size;
  }

  /** Begins to watch; after `timeoutMs` it gives up by itself. */
  watch(runIds: readonly string[], timeoutMs: number): Watching {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const replies = new Map<string, string>();
    if (this.#closed) {
      resolve(false);
      return { settled: promise, replies, end: () => {} };
    }
    const open = new Set(runIds);
    const finish = (settled: boolean): void => {
      clearTimeout(timer);
      this.#forget(watcher);
      resolve(settled);
    };
    const watcher: Watcher = { open, replies, finish };
    const timer = setTimeout(finish, timeoutMs, false);
    this.#watchers.add(watcher);
    for (const runId of open) this.#watchersOf(runId).add(watcher);
    if (open.size === 0) finish(true);
    return { settled: promise, replies, end: () => finish(false) };
  }

  /** A run has been settled, with this reply if it had one. Costs nothing when it is not watched. */
  notify(runId: string, reply?: string): void {
    const watchers = this.#byRun.get(runId);
    if (!watchers) return;
    this.#byRun.delete(runId);
    for (const watcher of watchers) {
      watcher.open.delete(runId);
      if (reply !== undefined) watcher.replies.set(runId, reply);
      if (watcher.open.size === 0) watcher.finish(true);
    }
  }

  /** Ends every watch and admits no further one. */
  close(): void {
    this.#closed = true;
    for (const watcher of this.#watchers) watcher.finish(false);
  }

  #watchersOf(runId: string): Set<Watcher> {
    let watchers = this.#byRun.get(runId);
    if (!watchers) this.#byRun.set(runId, (watchers = new Set()));
    return watchers;
  }

  #forget(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    for (const runId of watcher.open) {
      const watchers = this.#byRun.get(runId);
      watchers?.delete(watcher);
      if (watchers?.size === 0) this.#byRun.delete(runId);
    }
  }
}
