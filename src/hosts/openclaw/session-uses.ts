/** A run of this process in a session of the host. */
export interface SessionUse {
  readonly session: string;
}

/**
 * The sessions of the host in which runs of this process are. A removal takes the conversation, and the host is asked for
 * it several times: it must not meet a run that has begun meanwhile.
 */
export class SessionUses {
  readonly #uses = new Map<string, Set<SessionUse>>();
  readonly #removals = new Map<string, Promise<boolean>>();

  /** From now on the session is in use; a run may begin in it once it is {@link settled}. */
  enter(session: string): SessionUse {
    const use = { session };
    const uses = this.#uses.get(session) ?? new Set();
    this.#uses.set(session, uses.add(use));
    return use;
  }

  leave(use: SessionUse): void {
    const uses = this.#uses.get(use.session);
    uses?.delete(use);
    if (uses?.size === 0) this.#uses.delete(use.session);
  }

  isUsed(session: string): boolean {
    return this.#uses.has(session);
  }

  /** Resolves when the session is not being removed, or with the signal: a host may take its time. */
  async settled(session: string, signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    const abort = (): void => aborted.resolve();
    signal.addEventListener("abort", abort, { once: true });
    while (this.#removals.has(session) && !signal.aborted) {
      await Promise.race([this.#removals.get(session), aborted.promise]);
    }
    signal.removeEventListener("abort", abort);
  }

  /**
   * Removes a session; `ask` asks the host until it has done so, as long as `isWanted` says that no other run is there.
   * `own`: the run that removes it. False when it is not certain that it is gone.
   */
  async remove(
    session: string,
    ask: (isWanted: () => boolean) => Promise<boolean>,
    own?: SessionUse,
  ): Promise<boolean> {
    while (this.#removals.has(session)) await this.#removals.get(session);
    const isWanted = (): boolean => [...(this.#uses.get(session) ?? [])].every((use) => use === own);
    if (!isWanted()) return false;
    const removal = ask(isWanted);
    this.#removals.set(session, removal);
    try {
      return await removal;
    } finally {
      this.#removals.delete(session);
    }
  }
}
