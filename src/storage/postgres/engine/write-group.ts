import type { Session } from "./statement.ts";

/** One kind of write; items that arrive together are carried out together. */
export interface WriteOperation<Item, Result> {
  /** Items that have one of these in common are carried out one after the other. */
  readonly keysOf: (item: Item) => readonly (string | number)[];
  /** True: it goes before the others of its transaction, so that all gateways lock in one order: keys, then runs. */
  readonly isFirst?: boolean;
  /** How large an item is, where that can be much. */
  readonly bytesOf?: (item: Item) => number;
  /** The results, in the order of the items, inside a transaction. */
  readonly run: (session: Session, items: readonly Item[]) => Promise<readonly Result[]>;
}

/** What waits in the queue of a writer. */
export interface QueuedGroup {
  readonly size: number;
  /** How many keys its writes have. */
  readonly keys: number;
  readonly bytes: number;
  readonly isFirst: boolean;
  has(key: string | number): boolean;
  run(session: Session): Promise<void>;
  /** Answers the callers with what `run` returned. */
  resolve(): void;
  reject(error: Error): void;
  /** Each write as a group of its own. */
  split(): readonly QueuedGroup[];
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly settle: PromiseWithResolvers<Result>;
}

/** Writes of one kind that are independent of each other. */
export class WriteGroup<Item, Result> implements QueuedGroup {
  readonly operation: WriteOperation<Item, Result>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  readonly #keys = new Set<string | number>();
  #bytes = 0;
  #results: readonly Result[] = [];

  constructor(operation: WriteOperation<Item, Result>) {
    this.operation = operation;
  }

  get size(): number {
    return this.#waiting.length;
  }

  get keys(): number {
    return this.#keys.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFirst(): boolean {
    return this.operation.isFirst === true;
  }

  has(key: string | number): boolean {
    return this.#keys.has(key);
  }

  add(item: Item, settle: PromiseWithResolvers<Result> = Promise.withResolvers()): Promise<Result> {
    for (const key of this.operation.keysOf(item)) this.#keys.add(key);
    this.#bytes += this.operation.bytesOf?.(item) ?? 0;
    this.#waiting.push({ item, settle });
    return settle.promise;
  }

  async run(session: Session): Promise<void> {
    this.#results = await this.operation.run(
      session,
      this.#waiting.map(({ item }) => item),
    );
  }

  resolve(): void {
    for (const [index, { settle }] of this.#waiting.entries()) settle.resolve(this.#results[index]!);
  }

  reject(error: Error): void {
    for (const { settle } of this.#waiting) settle.reject(error);
  }

  split(): readonly QueuedGroup[] {
    return this.#waiting.map(({ item, settle }) => {
      const alone = new WriteGroup(this.operation);
      void alone.add(item, settle);
      return alone;
    });
  }
}

export function isGroupOf<Item, Result>(
  group: QueuedGroup,
  operation: WriteOperation<Item, Result>,
): group is WriteGroup<Item, Result> {
  return group instanceof WriteGroup && group.operation === operation;
}
