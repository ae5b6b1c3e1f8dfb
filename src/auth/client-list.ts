/** What {@link ClientList} keeps in order: one client address and its failures. */
export interface Client {
  readonly key: string;
  /** When it failed within the window, oldest first; milliseconds on the lockout's clock. */
  readonly failures: number[];
  /** Milliseconds on the lockout's clock; 0 when it is not locked. */
  lockedUntil: number;
  previous: Client | undefined;
  next: Client | undefined;
}

/**
 * Clients from the oldest to the newest; every operation takes constant time.
 *
 * The order of a Map would do but for its cost: reaching the oldest entry walks over the holes that
 * earlier deletions left in front of it, which are thousands in a full table.
 */
export class ClientList {
  oldest: Client | undefined;
  #newest: Client | undefined;

  /** Adds a client that is in no list. */
  append(client: Client): void {
    client.previous = this.#newest;
    client.next = undefined;
    if (this.#newest === undefined) this.oldest = client;
    else this.#newest.next = client;
    this.#newest = client;
  }

  /** Takes out a client of this list. */
  remove(client: Client): void {
    if (client.previous === undefined) this.oldest = client.next;
    else client.previous.next = client.next;
    if (client.next === undefined) this.#newest = client.previous;
    else client.next.previous = client.previous;
    client.previous = undefined;
    client.next = undefined;
  }
}
