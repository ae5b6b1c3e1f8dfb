/**
 * Knows whose failure it is when something goes wrong beside the work itself: an uncaught error, or a
 * rejection that nobody handles, fails the module that is being loaded or the call that is being carried
 * out. The process lives on: whatever the error left behind is the modules' own.
 */
export class UnderWay {
  #fail: ((error: unknown) => void) | undefined;

  begin(fail: (error: unknown) => void): void {
    this.#fail = fail;
  }

  end(): void {
    this.#fail = undefined;
  }

  /** Whether there was something to fail. */
  fail(error: unknown): boolean {
    const fail = this.#fail;
    fail?.(error);
    return fail !== undefined;
  }
}
