import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeliveryDetail, DeliveryOutcome, SettledState } from "../delivery.ts";
import { siblingUrl } from "../sqlite/sibling-url.ts";
import type { SqliteDatabase } from "../sqlite/sqlite-database.ts";
import { SqliteError } from "../sqlite/sqlite-error.ts";
import type { AcceptResult } from "./accept-operation.ts";
import { acceptRow } from "./accept-row.ts";
import { DeliveryList } from "./delivery-list.ts";
import { DeliveryReader } from "./delivery-reader.ts";
import {
  type AcceptOutcome,
  type AttemptEnd,
  type DeliveryPage,
  type DeliveryQuery,
  type DeliveryStore,
  type NewDelivery,
  type OpenRun,
  type RunStep,
  StoreError,
  type StoredRun,
} from "./delivery-store.ts";
import { FreshRuns } from "./fresh-runs.ts";
import { deliveryId, newTag, parseDeliveryId, parseRunId, runIds, type RunKey } from "./public-id.ts";
import type { RunResult } from "./run-operations.ts";
import { codeOfOutcome, codeOfSettled, RUNS_PER_DELIVERY } from "./sqlite-codes.ts";
import { bitOfStep } from "./stored-rows.ts";

/** To be among the modules of the {@link SqliteDatabase} that a {@link SqliteDeliveryStore} is opened on. */
export const sqliteStoreModule: URL = siblingUrl("sqlite-store-module", import.meta.url);

/**
 * The delivery store of one gateway on one SQLite file.
 *
 * Writes go to the writer thread, where those that arrive together share a commit; reads are short
 * queries on the main thread.
 */
export class SqliteDeliveryStore implements DeliveryStore {
  readonly #database: SqliteDatabase;
  readonly #ownsDatabase: boolean;
  readonly #reader: DeliveryReader;
  readonly #list: DeliveryList;
  readonly #fresh = new FreshRuns();
  /** Given out here, not by the writer: its answer to the usual call is then nothing at all. */
  #nextSeq: number;
  #closing: Promise<void> | undefined;

  private constructor(database: SqliteDatabase, ownsDatabase: boolean) {
    this.#database = database;
    this.#ownsDatabase = ownsDatabase;
    this.#reader = new DeliveryReader(database.reader);
    this.#list = new DeliveryList(database.reader);
    this.#nextSeq = this.#reader.lastSeq() + 1;
  }

  /**
   * The database must have been opened with {@link sqliteStoreModule}; only one store may be open on it.
   * Closing the store closes the database too when it owns it.
   */
  static open(database: SqliteDatabase, options: { ownsDatabase?: boolean } = {}): SqliteDeliveryStore {
    return new SqliteDeliveryStore(database, options.ownsDatabase ?? false);
  }

  async accept(delivery: NewDelivery): Promise<AcceptOutcome> {
    this.#assertOpen();
    const seq = this.#nextSeq;
    const tag = newTag();
    const row = acceptRow(seq, tag, delivery);
    this.#nextSeq++;
    const holder = await this.#write<AcceptResult>("store.accept", row);
    if (holder === undefined) {
      this.#fresh.add(seq, tag, delivery.runs);
      return { kind: "accepted", deliveryId: deliveryId(seq, tag), runIds: runIds(seq, tag, delivery.runs.length) };
    }
    const heldBy = deliveryId(holder.seq, holder.tag);
    if (!holder.sameRequest) return { kind: "conflict", deliveryId: heldBy };
    return { kind: "repeat", deliveryId: heldBy, runIds: runIds(holder.seq, holder.tag, holder.runs) };
  }

  /** Those that are open at the time of the call; runs accepted later are not among them. */
  openRuns(): AsyncIterable<OpenRun> {
    return this.#openRunsBefore(this.#nextSeq * RUNS_PER_DELIVERY);
  }

  async loadRun(runId: string): Promise<StoredRun> {
    this.#assertOpen();
    const key = runKey(runId);
    const run = this.#fresh.take(key) ?? read(() => this.#reader.run(key));
    if (run === undefined) throw notFound(runId);
    return run;
  }

  async beginAttempt(runId: string, attempt: { number: number; startedAt: number }): Promise<void> {
    await this.#change("store.beginAttempt", runId, [attempt.number, attempt.startedAt]);
  }

  async endAttempt(runId: string, end: AttemptEnd): Promise<void> {
    await this.#change("store.endAttempt", runId, [end.endedAt, end.status, end.error, end.reply]);
  }

  async recordStep(runId: string, step: RunStep, outcome?: DeliveryOutcome): Promise<void> {
    const code = outcome === undefined ? null : codeOfOutcome(outcome);
    await this.#change("store.recordStep", runId, [bitOfStep(step), code]);
  }

  async hold(runId: string, reason: string): Promise<void> {
    await this.#change("store.hold", runId, [reason]);
  }

  settle(runId: string, settled: { state: SettledState; reason: string | null }): Promise<void> {
    return this.settleAll([runId], settled);
  }

  async settleAll(runIds: readonly string[], settled: { state: SettledState; reason: string | null }): Promise<void> {
    this.#assertOpen();
    const args: (string | number | null)[] = [codeOfSettled(settled.state), settled.reason];
    for (const id of runIds) {
      const key = runKey(id);
      args.push(key.run, key.tag);
      this.#fresh.forget(key);
    }
    const failed = await this.#write<RunResult>("store.settle", args);
    if (failed !== undefined) throw notFound(runIds[failed]!);
  }

  async list(query: DeliveryQuery): Promise<DeliveryPage> {
    this.#assertOpen();
    return read(() => this.#list.page(query));
  }

  async get(id: string): Promise<DeliveryDetail | undefined> {
    this.#assertOpen();
    const key = parseDeliveryId(id);
    return key === undefined ? undefined : read(() => this.#reader.delivery(key));
  }

  async body(id: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    const key = parseDeliveryId(id);
    return key === undefined ? undefined : read(() => this.#reader.body(key));
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    // Writes are carried out in order: when this one is answered, all are.
    await this.#write("store.barrier", null).catch(() => undefined);
    if (this.#ownsDatabase) await this.#database.close();
  }

  async *#openRunsBefore(end: number): AsyncGenerator<OpenRun> {
    let after = 0;
    for (;;) {
      this.#assertOpen();
      const page = read(() => this.#reader.openRuns(after, end));
      if (page === undefined) return;
      yield* page.runs;
      after = page.last;
      await nextTurn();
    }
  }

  async #change(operation: string, runId: string, values: readonly (string | number | null)[]): Promise<void> {
    this.#assertOpen();
    const key = runKey(runId);
    this.#fresh.forget(key);
    const failed = await this.#write<RunResult>(operation, [key.run, key.tag, ...values]);
    if (failed !== undefined) throw notFound(runId);
  }

  async #write<Result>(operation: string, args: unknown): Promise<Result> {
    try {
      return await this.#database.write<Result>(operation, args);
    } catch (error) {
      throw asStoreError(error);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreError("CLOSED", "The delivery store is closed.");
  }
}

function runKey(id: string): RunKey {
  const key = parseRunId(id);
  if (key === undefined) throw notFound(id);
  return key;
}

function notFound(runId: string): StoreError {
  return new StoreError("NOT_FOUND", `There is no run ${runId} of which this can be recorded.`);
}

function read<Result>(query: () => Result): Result {
  try {
    return query();
  } catch (error) {
    throw asStoreError(error);
  }
}

function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof SqliteError && error.code === "CLOSED" ? "CLOSED" : "UNAVAILABLE";
  return new StoreError(code, message, { cause: error });
}
