import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Knows whose failure it is when something goes wrong beside the work itself: an uncaught error, or a
 * rejection that no one handles, fails the load or the call that it came from, while that is in progress.
 * The process lives on: whatever the error left behind is the modules' own.
 */
export class CurrentWork {
  readonly #run: AsyncLocalStorage<object>["run"];
  readonly #getStore: AsyncLocalStorage<object>["getStore"];
  /** Stands for the load or call in whatever it begins; the way to fail it is not to be found there. */
  #current: object | undefined;
  #fail: (error: unknown) => void = () => {};

  constructor() {
    const storage = new AsyncLocalStorage<object>();
    // Modules may replace what an import of `node:async_hooks` means, but not these.
    this.#run = storage.run.bind(storage);
    this.#getStore = storage.getStore.bind(storage);
  }

  /** Does the work, which is in progress until its end is reported. */
  begin(fail: (error: unknown) => void, work: () => void): void {
    this.#current = {};
    this.#fail = fail;
    this.#run(this.#current, work);
  }

  end(): void {
    this.#current = undefined;
  }

  /** Called where an error arrives: whether it came from what is in progress, which is failed then. */
  fail(error: unknown): boolean {
    if (this.#current === undefined || this.#getStore() !== this.#current) return false;
    this.#fail(error);
    return true;
  }
}
