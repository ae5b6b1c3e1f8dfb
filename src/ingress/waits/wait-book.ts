import type { PayloadContext } from "../../core/delivery.ts";
import type { Wait } from "../../core/wait.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import type { StoredWait, WaitChange } from "../../storage/wait-store.ts";
import { WaitIndex, type WaitedHook } from "./index-waits.ts";
import type { WaitPlace } from "./progress.ts";

/** A wait in the version that is known. */
export interface KnownWait {
  readonly wait: Wait;
  readonly version: number;
}

/** The waits that are open, as far as this gateway knows: the store decides whether a version is the latest. */
export class WaitBook {
  readonly #store: Pick<DeliveryStore, "waits">;
  readonly #waits = new Map<string, KnownWait>();
  readonly #index = new WaitIndex();
  #mark = 0;
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #readsAll = false;

  constructor(store: Pick<DeliveryStore, "waits">) {
    this.#store = store;
  }

  /** What is known of the waits that other gateways add. */
  get mark(): number {
    return this.#mark;
  }

  get index(): Pick<WaitIndex, "problem"> {
    return this.#index;
  }

  get(id: string): KnownWait | undefined {
    return this.#waits.get(id);
  }

  all(): IterableIterator<KnownWait> {
    return this.#waits.values();
  }

  find(hook: WaitedHook, context: PayloadContext): ReadonlyMap<string, readonly WaitPlace[]> | undefined {
    return this.#index.find(hook, context);
  }

  /** Takes up what a commit has changed. */
  changed(changes: readonly WaitChange[]): void {
    for (const { id, version, content } of changes) {
      const session = this.#waits.get(id)?.wait.sessionKey;
      if (content === null || session === undefined) this.#drop(id);
      else this.#put({ id, session, version: version + 1, content });
    }
  }

  forget(id: string): void {
    this.#drop(id);
  }

  /**
   * Reads what the store has by now; `all`: also which waits have ended. Those who ask meanwhile share one look.
   * Rejects with a `StoreError`.
   */
  refresh({ all = false }: { readonly all?: boolean } = {}): Promise<void> {
    this.#readsAll ||= all;
    this.#next ??= this.#reading.then(() => {
      this.#next = undefined;
      const reading = this.#read();
      this.#reading = reading.catch(() => {});
      return reading;
    });
    return this.#next;
  }

  async #read(): Promise<void> {
    const since = this.#readsAll ? 0 : this.#mark;
    this.#readsAll = false;
    const { waits, mark } = await this.#store.waits(since);
    this.#mark = Math.max(mark, this.#mark);
    for (const stored of waits) this.#put(stored);
    if (since > 0) return;
    const ids = new Set(waits.map(({ id }) => id));
    for (const id of this.#waits.keys()) if (!ids.has(id)) this.#drop(id);
  }

  #put({ id, version, content }: StoredWait): void {
    const known = this.#waits.get(id);
    if (known !== undefined && known.version >= version) return;
    const wait = JSON.parse(content) as Wait;
    this.#waits.set(id, { wait, version });
    // What it matches never changes.
    if (known === undefined) this.#index.add(wait);
  }

  #drop(id: string): void {
    const known = this.#waits.get(id);
    if (known === undefined) return;
    this.#waits.delete(id);
    this.#index.remove(known.wait);
  }
}
