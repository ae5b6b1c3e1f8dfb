import { SCOPE_ALL } from "../../storage/operational-state.ts";
import type { OperationalState, Pause, Scope } from "../../storage/operational-state.ts";
import type { DispatchContext } from "../dispatch-context.ts";
import { retrying, STORE_RETRY } from "../run/retrying.ts";

export interface PausesContext extends Pick<DispatchContext, "abandon"> {
  readonly store: Pick<OperationalState, "pauses" | "pause" | "resume">;
}

/** What is paused: in memory for the dispatcher to ask, in the store for the next process. */
export class Pauses {
  readonly #context: PausesContext;
  /** As many as mappings were ever paused and not resumed; the store has a bound. */
  readonly #paused = new Map<Scope, Pause>();
  /** The store is told in the order in which things happened. */
  #told: Promise<unknown> = Promise.resolve();

  constructor(context: PausesContext) {
    this.#context = context;
  }

  async load(): Promise<void> {
    for (const pause of await this.#context.store.pauses()) this.#paused.set(pause.scope, pause);
  }

  list(): readonly Pause[] {
    return [...this.#paused.values()];
  }

  /** The scope that pauses a mapping: everything, or the mapping itself. */
  scopeOver(mappingId: string | null): Scope | undefined {
    if (this.#paused.size === 0) return undefined;
    if (this.#paused.has(SCOPE_ALL)) return SCOPE_ALL;
    return mappingId !== null && this.#paused.has(mappingId) ? mappingId : undefined;
  }

  /** Pauses once it is written; false when the scope is paused already. Rejects with a `StoreError`. */
  pause(pause: Pause): Promise<boolean> {
    return this.#inOrder(async () => {
      if (this.#paused.has(pause.scope)) return false;
      await this.#context.store.pause(pause);
      this.#paused.set(pause.scope, pause);
      return true;
    });
  }

  /** Pauses at once, and rejects when it could not be written in the end; the scope is not paused already. */
  pauseAtOnce(pause: Pause): Promise<unknown> {
    const { store, abandon } = this.#context;
    this.#paused.set(pause.scope, pause);
    return this.#inOrder(() => retrying(() => store.pause(pause), STORE_RETRY, abandon));
  }

  /**
   * Ends a pause once that is written; false when there is none. `ending` is called right before it is gone.
   * Rejects with a `StoreError`.
   */
  resume(scope: Scope, ending: () => void): Promise<boolean> {
    return this.#inOrder(async () => {
      await this.#context.store.resume(scope);
      if (!this.#paused.has(scope)) return false;
      ending();
      return this.#paused.delete(scope);
    });
  }

  /** Resolves when everything has been written, or could not be. */
  async written(): Promise<void> {
    await this.#told;
  }

  #inOrder<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#told.then(step);
    this.#told = result.catch(() => {});
    return result;
  }
}
