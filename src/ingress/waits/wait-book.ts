import type { PayloadContext } from "../../core/delivery.ts";
import type { Wait } from "../../core/wait.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import type { StoredWait, WaitBounds, WaitChange } from "../../storage/wait-store.ts";
import { WaitIndex, type WaitedHook } from "./index-waits.ts";
import { noRoomText } from "./wait-terms.ts";
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
  /** Of each session. */
  readonly #counts = new Map<string, number>();
  #mark = 0;
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #readsAll = false;
  /** Open waits that calls have added since the reading began, which does not have them. */
  readonly #fresh = new Set<string>();

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

  /**
   * Why a further wait cannot be made, as far as this gateway knows: the store decides about the bounds. `changes` are
   * those of the call that makes it; what they end leaves its place to it.
   */
  problem(wait: Wait, bounds: WaitBounds, changes: readonly WaitChange[] = []): string | undefined {
    const ending = new Set<string>();
    let ofSession = this.#counts.get(wait.sessionKey) ?? 0;
    for (const { id, content } of changes) {
      const known = content === null ? this.#waits.get(id) : undefined;
      if (known === undefined) continue;
      ending.add(id);
      if (known.wait.sessionKey === wait.sessionKey) ofSession--;
    }
    if (this.#waits.size - ending.size >= bounds.total) return noRoomText("full", bounds);
    if (ofSession >= bounds.ofSession) return noRoomText("session-full", bounds);
    return this.#index.problem([...wait.all, ...wait.any, ...wait.none], ending);
  }

  /** Takes up what a commit has changed and added. */
  changed({
    changes,
    added,
  }: {
    readonly changes: readonly WaitChange[];
    readonly added?: StoredWait | undefined;
  }): void {
    if (added !== undefined) {
      this.#put(added);
      this.#fresh.add(added.id);
    }
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
    this.#fresh.clear();
    const { waits, mark } = await this.#store.waits(since);
    this.#mark = Math.max(mark, this.#mark);
    for (const stored of waits) this.#put(stored);
    if (since > 0) return;
    const ids = new Set(waits.map(({ id }) => id));
    for (const id of this.#waits.keys()) if (!ids.has(id) && !this.#fresh.has(id)) this.#drop(id);
  }

  #put({ id, version, content }: StoredWait): void {
    const known = this.#waits.get(id);
    if (known !== undefined && known.version >= version) return;
    const wait = JSON.parse(content) as Wait;
    this.#waits.set(id, { wait, version });
    // What it matches never changes.
    if (known !== undefined) return;
    this.#index.add(wait);
    this.#count(wait, 1);
  }

  #drop(id: string): void {
    this.#fresh.delete(id);
    const known = this.#waits.get(id);
    if (known === undefined) return;
    this.#waits.delete(id);
    this.#index.remove(known.wait);
    this.#count(known.wait, -1);
  }

  #count({ sessionKey }: Wait, by: number): void {
    const count = (this.#counts.get(sessionKey) ?? 0) + by;
    if (count === 0) this.#counts.delete(sessionKey);
    else this.#counts.set(sessionKey, count);
  }
}
