import type { Pool } from "pg";
import { StoreError } from "../../delivery-store.ts";
import { ANSWER_MARGIN_MS } from "../../shared-store.ts";
import { reading } from "../readers/read-session.ts";
import { openPool } from "./connect.ts";
import { newInstance, type OwnerOptions } from "./owner-connection.ts";
import type { Session } from "./statement.ts";
import type { WriteOperation } from "./write-group.ts";
import { Writer, type WriterOptions } from "./writer.ts";

const nothing: WriteOperation<undefined, undefined> = { keysOf: () => [], run: async (_, items) => [...items] };

/**
 * Given the database of `hooks.store` before anything is done with it, or nothing where the store is in the state folder;
 * a host that takes it keeps its own state there, and closes it after the ingress.
 */
export type TakeDatabase = (database: PostgresDatabase | undefined) => Promise<void>;

/** The connections of a gateway: one that writes and holds the lock of the database, and a few that read. */
export class PostgresDatabase {
  readonly writer: Writer;
  readonly pool: Pool;
  /** True: other gateways use it beside this one. */
  readonly isShared: boolean;
  #closing: Promise<void> | undefined;

  /** Rejects with the reason when it cannot be used, its tables are missing or another gateway uses it alone. */
  static async open(options: Omit<WriterOptions, "instance">): Promise<PostgresDatabase> {
    const writer = await Writer.open({ ...options, instance: newInstance() });
    await writer.lead();
    return new PostgresDatabase(writer, await openPool(options.url), options);
  }

  private constructor(writer: Writer, pool: Pool, { isBeside }: Pick<OwnerOptions, "isBeside">) {
    this.writer = writer;
    this.pool = pool;
    this.isShared = isBeside === true;
  }

  /** Resolves when the write is committed; rejects with a {@link StoreError} when it has not taken effect. */
  write<Item, Result>(operation: WriteOperation<Item, Result>, item: Item): Promise<Result> {
    if (this.#closing !== undefined) return Promise.reject(new StoreError("CLOSED", "The database is closed."));
    return this.writer.write(operation, item);
  }

  async read<Result>(read: (session: Session) => Promise<Result>): Promise<Result> {
    if (this.#closing !== undefined) throw new StoreError("CLOSED", "The database is closed.");
    return reading(this.pool, read);
  }

  /** Rejects where nothing is written, and when the answer took so long that another gateway may have the lead. */
  async confirm(): Promise<void> {
    await this.timely(() => this.write(nothing, undefined));
  }

  /**
   * Carries out a write after which something begins that no other gateway must begin as well. It does not begin after a
   * long wait, such as that of a process that was frozen: the server may have ended the session meanwhile. Nor does it
   * where the write is found to be committed only when another gateway has the lead.
   */
  async timely(write: () => Promise<unknown>): Promise<void> {
    const askedAt = performance.now();
    await write();
    if (this.writer.isReplaced || performance.now() - askedAt > ANSWER_MARGIN_MS) {
      throw new StoreError("UNAVAILABLE", "The answer took so long that another gateway may carry out the runs.");
    }
  }

  /** Finishes what was handed to it. */
  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    await this.writer.close();
    await this.pool.end();
  }
}
