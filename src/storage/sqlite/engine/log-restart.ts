/** A read that waits for the log to start over goes on after so long in any case. */
const MAX_WAIT_MS = 1_000;

/**
 * Lets the writer start the log over although another thread reads without a pause.
 *
 * SQLite waits for the lock of a reader by looking now and then, and a thread that reads again and again holds it at
 * nearly every look: calls would wait for as long as SQLite tries. So that thread asks before each read, and waits
 * while the writer is at it. The flag is shared by both threads.
 */
export class LogRestart {
  readonly shared: SharedArrayBuffer;
  readonly #flag: Int32Array;

  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.shared = shared;
    this.#flag = new Int32Array(shared);
  }

  /** Carries out what needs a moment without reads. */
  withoutReads<Result>(action: () => Result): Result {
    Atomics.store(this.#flag, 0, 1);
    try {
      return action();
    } finally {
      Atomics.store(this.#flag, 0, 0);
      Atomics.notify(this.#flag, 0);
    }
  }

  /** Blocks the thread that reads while the writer needs it. */
  letPass(): void {
    if (Atomics.load(this.#flag, 0) === 1) Atomics.wait(this.#flag, 0, 1, MAX_WAIT_MS);
  }
}
