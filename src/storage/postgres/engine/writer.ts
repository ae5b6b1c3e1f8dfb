import { setTimeout as sleep } from "node:timers/promises";
import { CommitMeasurements } from "../../../core/measurements.ts";
import type { Logger } from "../../../core/host.ts";
import { StoreError } from "../../delivery-store.ts";
import { asStoreError, isConflict, isOwnFault } from "./errors.ts";
import { OwnerConnection, type OwnerOptions, ReplacedError, takeLead } from "./owner-connection.ts";
import { isGroupOf, type QueuedGroup, WriteGroup, type WriteOperation } from "./write-group.ts";

/** Writes that share one commit. */
const MAX_BATCH = 256;
/** Keys of such writes: each may be a lock, and the server has room for some thousands in all. */
const MAX_KEYS = 512;
/** Bytes of such writes: the client makes one text of each column, of twice the size, and is given ten seconds to send it. */
const MAX_BYTES = 8 * 1024 * 1024;
const HEARTBEAT_MS = 1_000;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;
/** Of a transaction that another gateway's was in the way of. */
const MAX_TRIES = 5;

export interface WriterOptions extends OwnerOptions {
  readonly logger: Logger;
}

/** A commit of which the answer did not arrive. */
interface Doubt {
  readonly transaction: number;
  readonly groups: readonly QueuedGroup[];
}

/**
 * Carries out every write of a gateway on one connection. The gateway that carries out the runs holds the lock of the
 * database there: when the lock is gone, so is the connection, and no write of this gateway can take effect any more.
 *
 * Writes that wait while one transaction runs share the next one. When the connection is lost, waiting writes are
 * refused until there is another one. Whether the transaction in progress was committed is asked then, so that its
 * callers get the right answer.
 */
export class Writer {
  readonly commits = new CommitMeasurements();
  readonly #replaced = Promise.withResolvers<Error>();
  readonly #options: WriterOptions;
  readonly #queue: QueuedGroup[] = [];
  readonly #heartbeat: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #leads: boolean;
  #isReplaced = false;
  #connection: OwnerConnection | undefined;
  #refusal = new StoreError("UNAVAILABLE", "The connection to PostgreSQL is lost; it is being made again.");
  #working: Promise<void> | undefined;
  #reconnecting: Promise<void> | undefined;

  private constructor(connection: OwnerConnection, options: WriterOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#leads = options.isBeside !== true;
    this.#watch(connection);
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_MS).unref();
  }

  /** Rejects when the database cannot be used, or another gateway has its lock. */
  static async open(options: WriterOptions): Promise<Writer> {
    return new Writer(await OwnerConnection.open(options), options);
  }

  /** Names this process among the gateways on the database. */
  get instance(): string {
    return this.#options.instance;
  }

  /** Resolves when another gateway has the lock, and keeps it: nothing is written here any more. */
  get replaced(): Promise<Error> {
    return this.#replaced.promise;
  }

  /** True once another gateway has the lock; that a write was committed before may become known only then. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** True once the connection that writes has held the lock: it is given no other without. */
  get leads(): boolean {
    return this.#leads;
  }

  /** Asks for the lock; true when this gateway has it. */
  async lead(): Promise<boolean> {
    if (this.#leads) return true;
    const connection = this.#connection;
    const isTaken = await this.write(takeLead, this.#options.instance);
    // The lock is gone with the connection that it was taken on.
    if (isTaken && connection === this.#connection) this.#leads = true;
    return this.#leads;
  }

  /** Resolves when the write is committed; rejects with a {@link StoreError} when it has not taken effect. */
  write<Item, Result>(operation: WriteOperation<Item, Result>, item: Item): Promise<Result> {
    if (this.#connection === undefined) return Promise.reject(this.#refusal);
    const result = this.#groupFor(operation, operation.keysOf(item)).add(item);
    this.#working ??= this.#work();
    return result;
  }

  /** Finishes what was handed to it. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#working;
    this.#closing.abort();
    await this.#reconnecting;
    await this.#connection?.close();
  }

  /** The latest group of the operation, unless the write has to come after others; order within an operation stays. */
  #groupFor<Item, Result>(
    operation: WriteOperation<Item, Result>,
    keys: readonly (string | number)[],
  ): WriteGroup<Item, Result> {
    const open = this.#queue.findLast((group) => isGroupOf(group, operation));
    const isApart = (group: QueuedGroup): boolean => !keys.some((key) => group.has(key));
    const isFree =
      open !== undefined &&
      open.keys < MAX_KEYS &&
      open.bytes < MAX_BYTES &&
      this.#queue.slice(this.#queue.indexOf(open)).every(isApart);
    if (isFree) return open;
    const group = new WriteGroup(operation);
    this.#queue.push(group);
    return group;
  }

  async #work(): Promise<void> {
    // What arrives in one turn of the event loop shares the first commit, too.
    await Promise.resolve();
    for (let connection = this.#connection; connection !== undefined; connection = this.#connection) {
      const groups = this.#take();
      if (groups.length === 0) break;
      await this.#commit(connection, groups);
    }
    this.#working = undefined;
    if (this.#queue.length > 0 && this.#connection !== undefined) this.#working = this.#work();
  }

  #take(): QueuedGroup[] {
    let count = 0;
    let keys = 0;
    let bytes = 0;
    const fits = (group: QueuedGroup): boolean =>
      count + group.size <= MAX_BATCH && keys + group.keys <= MAX_KEYS && bytes + group.bytes <= MAX_BYTES;
    const groups: QueuedGroup[] = [];
    while (this.#queue.length > 0 && (groups.length === 0 || fits(this.#queue[0]!))) {
      const group = this.#queue.shift()!;
      count += group.size;
      keys += group.keys;
      bytes += group.bytes;
      groups.push(group);
    }
    return [...groups.filter(({ isFirst }) => isFirst), ...groups.filter(({ isFirst }) => !isFirst)];
  }

  async #commit(connection: OwnerConnection, groups: readonly QueuedGroup[], tries = 1): Promise<void> {
    const startedAt = performance.now();
    try {
      await connection.transaction(async (session) => {
        for (const group of groups) await group.run(session);
      });
    } catch (error) {
      if (connection.isLost(error)) {
        this.#lose(connection, error, groups);
        return;
      }
      if (isConflict(error) && tries < MAX_TRIES) {
        await this.#commit(connection, groups, tries + 1);
        return;
      }
      const writes = groups.flatMap((group) => group.split());
      if (writes.length > 1 && isOwnFault(error)) {
        for (const write of writes) {
          if (this.#connection === connection) await this.#commit(connection, [write]);
          else write.reject(this.#refusal);
        }
        return;
      }
      for (const group of groups) group.reject(asStoreError(error));
      return;
    }
    this.commits.size.observe(groups.reduce((sum, group) => sum + group.size, 0));
    this.commits.seconds.observe((performance.now() - startedAt) / 1000);
    for (const group of groups) group.resolve();
  }

  async #beat(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || this.#working !== undefined) return;
    try {
      await connection.beat();
    } catch (error) {
      this.#lose(connection, error, []);
    }
  }

  #watch(connection: OwnerConnection): void {
    void connection.ended.then((error) => {
      if (this.#working === undefined) this.#lose(connection, error, []);
    });
  }

  #lose(connection: OwnerConnection, error: unknown, groups: readonly QueuedGroup[]): void {
    if (this.#connection !== connection || this.#closing.signal.aborted) {
      for (const group of groups) group.reject(this.#refusal);
      return;
    }
    this.#connection = undefined;
    this.#options.logger.error(
      { err: error },
      "the connection to PostgreSQL is lost: calls are refused until it is back",
    );
    const { committing } = connection;
    connection.destroy();
    const doubt = committing === undefined ? undefined : { transaction: committing, groups };
    if (doubt === undefined) for (const group of groups) group.reject(this.#refusal);
    for (const group of this.#queue.splice(0)) group.reject(this.#refusal);
    this.#reconnecting = this.#reconnect(doubt).catch(() => {
      for (const group of groups) group.reject(this.#refusal);
    });
  }

  /** Rejects when it is closed meanwhile. */
  async #reconnect(doubt: Doubt | undefined): Promise<void> {
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(MAX_RETRY_MS, delayMs * 2)) {
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal: this.#closing.signal });
      try {
        const way = this.#isReplaced ? { isBeside: true } : { isBack: this.#leads };
        const connection = await OwnerConnection.open({ ...this.#options, ...way, isReopened: true });
        await settleDoubt(connection, doubt, this.#refusal);
        if (this.#isReplaced) {
          connection.destroy();
          return;
        }
        this.#connection = connection;
        this.#watch(connection);
        this.#options.logger.info({}, "the connection to PostgreSQL is back");
        return;
      } catch (error) {
        if (error instanceof ReplacedError && !this.#closing.signal.aborted) {
          // First, so that nothing begins here by what the commit turns out to be. It is asked for without the lock: what
          // its callers have stored, the other gateway carries out.
          this.#giveUp(error);
          if (doubt === undefined) return;
        } else this.#options.logger.debug({ err: error }, "PostgreSQL cannot be reached yet");
      }
    }
  }

  #giveUp(error: unknown): void {
    this.#isReplaced = true;
    this.#refusal = new StoreError("UNAVAILABLE", asStoreError(error).message, { cause: error });
    this.#options.logger.error({ err: error }, "this gateway writes nothing any more: start it again");
    this.#replaced.resolve(this.#refusal);
  }
}

/** Answers the callers of a commit whose own answer was lost; where the server does not say, it is to be asked again. */
async function settleDoubt(connection: OwnerConnection, doubt: Doubt | undefined, refusal: Error): Promise<void> {
  if (doubt === undefined) return;
  const isCommitted = await connection.wasCommitted(doubt.transaction).catch((error: unknown) => {
    connection.destroy();
    throw error;
  });
  for (const group of doubt.groups) {
    if (isCommitted) group.resolve();
    else group.reject(refusal);
  }
}
