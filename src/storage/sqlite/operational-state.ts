import { reasonOf } from "../../core/reason-of.ts";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../delivery-store.ts";
import type { OperationalState, Pause, Scope, Usage } from "../operational-state.ts";
import type { SqliteDatabase } from "./engine/database.ts";
import type { StoredWait, WaitAddition, WaitBounds, WaitStore } from "../wait-store.ts";
import { SqliteError } from "./engine/errors.ts";
import { rowQuery, type RowQuery } from "./engine/row-query.ts";
import { waitReader } from "./waits.ts";

/** Reads what is remembered of the gateway's own operation; every table is bounded. */
export class OperationalStateReader {
  readonly #pauses: RowQuery<Pause>;
  readonly #usage: RowQuery<Usage>;
  readonly #outages: RowQuery<{ readonly subject: string }>;

  constructor(reader: DatabaseSync) {
    this.#pauses = rowQuery(
      reader,
      { scope: "text", reason: "text", since: "integer" },
      "SELECT scope, reason, since FROM pauses ORDER BY scope",
    );
    this.#usage = rowQuery(
      reader,
      { scope: "text", minute: "integer", runs: "integer", tokens: "integer", microUsd: "integer" },
      `SELECT scope, minute, runs, tokens, micro_usd AS microUsd FROM usage
        WHERE minute >= ? ORDER BY minute, scope`,
    );
    this.#outages = rowQuery(reader, { subject: "text" }, "SELECT subject FROM outages ORDER BY subject");
  }

  pauses(): Pause[] {
    return this.#pauses.all().map(({ scope, reason, since }) => ({ scope, reason, since }));
  }

  usageSince(minute: number): Usage[] {
    return this.#usage.all(minute).map(({ scope, minute, runs, tokens, microUsd }) => ({
      scope,
      minute,
      runs,
      tokens,
      microUsd,
    }));
  }

  outages(): string[] {
    return this.#outages.all().map(({ subject }) => subject);
  }
}

/** The operational state and the waits in the SQLite store, independent of its deliveries. */
export abstract class SqliteOperationalState implements OperationalState, WaitStore {
  readonly #database: SqliteDatabase;
  readonly #operational: OperationalStateReader;
  readonly #waits: () => StoredWait[];

  protected constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#waits = waitReader(database.reader);
    this.#operational = new OperationalStateReader(database.reader);
  }

  async pauses(): Promise<readonly Pause[]> {
    this.assertOpen();
    return reading(() => this.#operational.pauses());
  }

  async pause({ scope, reason, since }: Pause): Promise<boolean> {
    this.assertOpen();
    return this.write("store.pause", [scope, reason, since]);
  }

  async resume(scope: Scope): Promise<boolean> {
    this.assertOpen();
    return this.write("store.resume", [scope]);
  }

  async addUsage(usage: readonly Usage[]): Promise<void> {
    this.assertOpen();
    await this.write(
      "store.addUsage",
      usage.flatMap(({ scope, minute, runs, tokens, microUsd }) => [scope, minute, runs, tokens, microUsd]),
    );
  }

  async usageSince(minute: number): Promise<readonly Usage[]> {
    this.assertOpen();
    return reading(() => this.#operational.usageSince(minute));
  }

  async openOutage({ subject, since }: { readonly subject: string; readonly since: number }): Promise<boolean> {
    this.assertOpen();
    return this.write("store.openOutage", [subject, since]);
  }

  async closeOutage(subject: string): Promise<boolean> {
    this.assertOpen();
    return this.write("store.closeOutage", [subject]);
  }

  async outages(): Promise<readonly string[]> {
    this.assertOpen();
    return reading(() => this.#operational.outages());
  }

  /** One gateway alone adds waits, and knows them: the mark stays. */
  async waits(): Promise<{ readonly waits: readonly StoredWait[]; readonly mark: number }> {
    this.assertOpen();
    return { waits: reading(this.#waits), mark: 0 };
  }

  async addWait({ id, session, version, content }: StoredWait, bounds: WaitBounds): Promise<WaitAddition> {
    this.assertOpen();
    return this.write("store.addWait", [id, session, version, content, bounds.total, bounds.ofSession]);
  }

  async removeWait(id: string): Promise<boolean> {
    this.assertOpen();
    return this.write("store.removeWait", [id]);
  }

  /** True when no more calls are taken. */
  protected abstract get isClosing(): boolean;

  protected assertOpen(): void {
    if (this.isClosing) throw new StoreError("CLOSED", "The delivery store is closed.");
  }

  protected async read<Result>(read: string, args: unknown): Promise<Result> {
    this.assertOpen();
    try {
      return await this.#database.read<Result>(read, args);
    } catch (error) {
      throw asStoreError(error);
    }
  }

  protected async write<Result>(operation: string, args: unknown): Promise<Result> {
    try {
      return await this.#database.write<Result>(operation, args);
    } catch (error) {
      throw asStoreError(error);
    }
  }
}

export function notFound(id: string): StoreError {
  return new StoreError("NOT_FOUND", `There is no ${id} of which this can be recorded.`);
}

/** Reads; what the database throws is thrown as a {@link StoreError}. */
export function reading<Result>(query: () => Result): Result {
  try {
    return query();
  } catch (error) {
    throw asStoreError(error);
  }
}

function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = reasonOf(error);
  const code = error instanceof SqliteError && error.code === "CLOSED" ? "CLOSED" : "UNAVAILABLE";
  return new StoreError(code, message, { cause: error });
}
