import type { LockoutConfig } from "../config/lockout.ts";
import type { Clock } from "../core/host.ts";

/** Addresses in one report of failures to other gateways. */
const MAX_UNREPORTED = 1_000;

/** One entry of {@link ClientList}: a client address and its failures. */
interface Client {
  readonly key: string;
  /** Times of its failures within the window, oldest first; milliseconds on the lockout's clock. */
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
class ClientList {
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

/**
 * Slows down the guessing of credentials, per client address (specification 5.5).
 *
 * `failures` failures within a sliding `windowMs` lock an address for `lockMs`; a failure during
 * the lock is not counted and does not lengthen it, and after it the count begins at nothing. The
 * caller compares the secret first and asks here only about failures, so a right credential passes
 * a locked address and unlocks it.
 *
 * At most `maxClients` addresses are remembered: past that the one that failed longest ago and is
 * not locked is forgotten. When all are locked, a failure of any other address is answered as
 * locked until the first of them is free again. Every call takes constant time on average.
 *
 * Written here because rate-limiter-flexible cannot express it (`docs/decisions/0001-lockout.md`).
 */
export class Lockout {
  readonly #config: LockoutConfig;
  readonly #clock: Clock;
  readonly #clients = new Map<string, Client>();
  /** In the order of their last failure. */
  readonly #counting = new ClientList();
  /** In the order in which they were locked, which is that in which they come free. */
  readonly #locked = new ClientList();
  /** Failures that were counted here and that no one has taken yet, by address; `undefined`: no one takes them. */
  #unreported: Map<string, number> | undefined;

  constructor(config: LockoutConfig, options: { clock: Clock }) {
    this.#config = config;
    this.#clock = options.clock;
  }

  /** Addresses remembered, at most `maxClients`. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * Counts a failure of the address. Returns the whole seconds, at least 1, for which the address
   * has been locked since before this failure; `undefined` when it was not locked.
   */
  fail(key: string): number | undefined {
    const lockedSeconds = this.#fail(key);
    if (lockedSeconds === undefined) this.#tell(key);
    return lockedSeconds;
  }

  /** Counts failures that another gateway has seen. */
  failElsewhere(key: string, times: number): void {
    for (let left = Math.min(times, this.#config.failures); left > 0; left--) this.#fail(key);
  }

  /** The failures that were counted here since the call before, by address, for other gateways; at first none. */
  takeUnreported(): ReadonlyMap<string, number> {
    const unreported = this.#unreported ?? new Map<string, number>();
    this.#unreported = new Map();
    return unreported;
  }

  /** Forgets the failures and the lock of an address that presented a right credential. */
  succeed(key: string): void {
    if (this.#clients.size === 0) return;
    const client = this.#clients.get(key);
    if (client !== undefined) this.#forget(client);
  }

  #fail(key: string): number | undefined {
    const now = this.#clock.now();
    this.#forgetExpired(now);
    const known = this.#clients.get(key);
    if (known !== undefined && known.lockedUntil > 0) return secondsUntil(known.lockedUntil, now);
    const client = known ?? this.#admit(key);
    if (client === undefined) return secondsUntil(this.#locked.oldest!.lockedUntil, now);
    this.#count(client, now);
    return undefined;
  }

  #tell(key: string): void {
    if (this.#unreported === undefined) return;
    const times = this.#unreported.get(key) ?? 0;
    if (times > 0 || this.#unreported.size < MAX_UNREPORTED) this.#unreported.set(key, times + 1);
  }

  #count(client: Client, now: number): void {
    const { failures } = client;
    while (failures.length > 0 && this.#isOutsideWindow(failures[0]!, now)) failures.shift();
    failures.push(now);
    this.#counting.remove(client);
    if (failures.length < this.#config.failures) {
      this.#counting.append(client);
      return;
    }
    client.lockedUntil = now + this.#config.lockMs;
    this.#locked.append(client);
  }

  /** A new client in the table, or `undefined` when it is full of locked ones. */
  #admit(key: string): Client | undefined {
    if (this.#clients.size >= this.#config.maxClients) {
      const victim = this.#counting.oldest;
      if (victim === undefined) return undefined;
      this.#forget(victim);
    }
    const client: Client = { key, failures: [], lockedUntil: 0, previous: undefined, next: undefined };
    this.#clients.set(key, client);
    this.#counting.append(client);
    return client;
  }

  #forget(client: Client): void {
    this.#clients.delete(client.key);
    (client.lockedUntil > 0 ? this.#locked : this.#counting).remove(client);
  }

  /** Each list ends first at its oldest, so that only what is removed, and one more, is looked at. */
  #forgetExpired(now: number): void {
    for (let client = this.#locked.oldest; client !== undefined; client = this.#locked.oldest) {
      if (!this.#isLockOver(client.lockedUntil, now)) break;
      this.#forget(client);
    }
    for (let client = this.#counting.oldest; client !== undefined; client = this.#counting.oldest) {
      if (!this.#isOutsideWindow(client.failures.at(-1)!, now)) break;
      this.#forget(client);
    }
  }

  /** A time still to come means that the clock was set back; such a failure is not counted. */
  #isOutsideWindow(failedAt: number, now: number): boolean {
    return failedAt <= now - this.#config.windowMs || failedAt > now;
  }

  /** A lock longer than any that is given means that the clock was set back; it ends. */
  #isLockOver(lockedUntil: number, now: number): boolean {
    return lockedUntil <= now || lockedUntil > now + this.#config.lockMs;
  }
}

function secondsUntil(time: number, now: number): number {
  return Math.max(1, Math.ceil((time - now) / 1000));
}
