/**
 * The lanes of one process: a FIFO for each session key, of which at most one item is under way.
 *
 * Every operation costs the same at any number of lanes and of queued items. Lanes that become
 * ready are served in the order in which they did, so a long lane cannot starve the others.
 */
export class Lanes<Item> {
  readonly #lanes = new Map<string, Lane<Item>>();
  readonly #ready = new Fifo<string>();
  #queued = 0;

  /** Items that wait; those under way are not counted. */
  get queued(): number {
    return this.#queued;
  }

  push(laneKey: string, item: Item): void {
    let lane = this.#lanes.get(laneKey);
    if (!lane) {
      lane = { items: new Fifo(), busy: false };
      this.#lanes.set(laneKey, lane);
    }
    if (!lane.busy && lane.items.length === 0) this.#ready.push(laneKey);
    lane.items.push(item);
    this.#queued++;
  }

  /** The next item of a lane that has none under way; the lane is busy until {@link release}. */
  take(): { readonly lane: string; readonly item: Item } | undefined {
    const key = this.#ready.shift();
    if (key === undefined) return undefined;
    const lane = this.#lanes.get(key)!;
    lane.busy = true;
    this.#queued--;
    return { lane: key, item: lane.items.shift()! };
  }

  /** Says that the item taken from the lane has ended, so that its successor may go. */
  release(laneKey: string): void {
    const lane = this.#lanes.get(laneKey);
    if (!lane?.busy) return;
    lane.busy = false;
    if (lane.items.length > 0) this.#ready.push(laneKey);
    else this.#lanes.delete(laneKey);
  }
}

interface Lane<Item> {
  readonly items: Fifo<Item>;
  busy: boolean;
}

/** A queue whose shift does not move what remains. */
export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    // Half of the array is spent: what is moved now has been paid for by the shifts before.
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Takes up to `count` items from the front. */
  shiftMany(count: number): Item[] {
    const taken: Item[] = [];
    while (taken.length < count && this.length > 0) taken.push(this.shift()!);
    return taken;
  }
}
