/** Items handed out at once; the rest follows in a later turn of the event loop. */
const BATCH = 256;

/** Timers of more than 24 days would fire immediately; a later time is examined again then. */
const MAX_TIMER_MS = 86_400_000;

/**
 * Items that wait for their time, by the monotonic clock: a change of the wall clock moves nothing.
 *
 * One timer serves all of them. Adding and removing cost O(log n); putting off O(1), since the queue looks
 * at the new time only when the old one comes.
 */
export class TimedQueue<Item> {
  readonly #onDue: (items: readonly Item[]) => void;
  /** A binary heap by `keyMs`, each alarm knowing its index. */
  readonly #heap: Entry<Item>[] = [];
  #running = false;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = Infinity;

  /** `onDue` is given at most 256 items at once, the earliest first, and no longer has them in the queue. */
  constructor(onDue: (items: readonly Item[]) => void) {
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#heap.length;
  }

  start(): void {
    this.#running = true;
    this.#arm();
  }

  /** Nothing becomes due any more. */
  stop(): void {
    this.#running = false;
    this.#disarm();
  }

  /** `atMs` is a time of `performance.now()`. */
  add(item: Item, atMs: number): Alarm<Item> {
    const entry: Entry<Item> = { item, atMs, keyMs: atMs, index: this.#heap.length };
    this.#heap.push(entry);
    this.#rise(entry);
    this.#arm();
    return entry;
  }

  /** Gives an alarm another time; nothing happens when it is not in the queue. */
  move(alarm: Alarm<Item>, atMs: number): void {
    const entry = this.#entryOf(alarm);
    if (!entry) return;
    entry.atMs = atMs;
    if (atMs >= entry.keyMs) return;
    entry.keyMs = atMs;
    this.#rise(entry);
    this.#arm();
  }

  /** False when it is not in the queue. */
  remove(alarm: Alarm<Item>): boolean {
    const entry = this.#entryOf(alarm);
    if (!entry) return false;
    this.#take(entry);
    return true;
  }

  #entryOf(alarm: Alarm<Item>): Entry<Item> | undefined {
    const entry = alarm as Entry<Item>;
    return this.#heap[entry.index] === entry ? entry : undefined;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (!this.#running || !first || first.keyMs >= this.#timerMs) return;
    this.#disarm();
    this.#timerMs = first.keyMs;
    const delayMs = Math.min(MAX_TIMER_MS, Math.max(0, Math.ceil(first.keyMs - performance.now())));
    this.#timer = setTimeout(() => this.#ring(), delayMs);
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerMs = Infinity;
  }

  #ring(): void {
    this.#disarm();
    const nowMs = performance.now();
    const due: Item[] = [];
    for (let looked = 0; looked < BATCH; looked++) {
      const first = this.#heap[0];
      if (!first || first.keyMs > nowMs) break;
      if (first.atMs <= nowMs) {
        this.#take(first);
        due.push(first.item);
      } else {
        first.keyMs = first.atMs;
        this.#sink(first);
      }
    }
    this.#arm();
    if (due.length > 0) this.#onDue(due);
  }

  #take(entry: Entry<Item>): void {
    const last = this.#heap.pop()!;
    if (last !== entry) {
      this.#put(last, entry.index);
      this.#rise(last);
      this.#sink(last);
    }
    entry.index = -1;
  }

  #put(entry: Entry<Item>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #rise(entry: Entry<Item>): void {
    let at = entry.index;
    while (at > 0) {
      const parent = this.#heap[(at - 1) >> 1]!;
      if (parent.keyMs <= entry.keyMs) break;
      const above = parent.index;
      this.#put(parent, at);
      at = above;
    }
    this.#put(entry, at);
  }

  #sink(entry: Entry<Item>): void {
    let at = entry.index;
    for (;;) {
      const left = this.#heap[2 * at + 1];
      const right = this.#heap[2 * at + 2];
      const child = right && right.keyMs < left!.keyMs ? right : left;
      if (!child || child.keyMs >= entry.keyMs) break;
      const below = child.index;
      this.#put(child, at);
      at = below;
    }
    this.#put(entry, at);
  }
}

/** An item's time, for {@link TimedQueue} to find it by. */
export interface Alarm<Item> {
  readonly item: Item;
}

interface Entry<Item> extends Alarm<Item> {
  atMs: number;
  /** Its key in the heap: never later than `atMs`. */
  keyMs: number;
  index: number;
}
