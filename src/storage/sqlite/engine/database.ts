import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { CommitMeasurements } from "../../../core/measurements.ts";
import { Checkpoints, type FinishCheckpoint } from "./checkpoints.ts";
import { describeOpenError, isBusy, SqliteError } from "./errors.ts";
import { LogRestart } from "./log-restart.ts";
import { following, type NOT_CARRIED_OUT } from "./group-commit.ts";
import type { UpdateStep } from "./migrate.ts";
import type { SqliteLogger } from "./module.ts";
import { makePrivate, openReadConnection } from "./open-connection.ts";
import { ReaderThread } from "./reader-thread.ts";
import { WriteQueue } from "./write-queue.ts";
import { WriterThread } from "./writer-thread.ts";

/**
 * Holds `<file>.lock` for as long as this process has the database open.
 *
 * It is a lock of the operating system on an empty SQLite file, so it ends with the process however
 * that dies, and there is nothing stale to clean up.
 */
export class FileLock {
  readonly #holder: DatabaseSync;

  constructor(holder: DatabaseSync) {
    this.#holder = holder;
  }

  /** Throws a {@link SqliteError} `IN_USE` when another holder is alive. */
  static acquire(file: string): FileLock {
    const path = `${file}.lock`;
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
    const holder = new DatabaseSync(path, { timeout: 0 });
    try {
      // Without a journal in memory, BEGIN EXCLUSIVE leaves a second file behind.
      holder.exec("PRAGMA journal_mode = MEMORY");
      holder.exec("BEGIN EXCLUSIVE");
    } catch (error) {
      holder.close();
      if (!isBusy(error)) throw error;
      throw new SqliteError(
        "IN_USE",
        `${file} is in use by another process; stop that process or choose another state directory.`,
        { cause: error },
      );
    }
    return new FileLock(holder);
  }

  release(): void {
    this.#holder.close();
  }
}

export interface SqliteDatabaseOptions {
  /** Absolute path; made with mode 0600 when it does not exist. Its folder must exist. */
  readonly file: string;
  /** File URLs of the modules, each exporting `sqliteModule`; migrated in this order. */
  readonly modules: readonly URL[];
  readonly logger?: SqliteLogger;
  /** Opens the file also when commits that were made are missing. */
  readonly acceptLoss?: boolean | undefined;
  /** Rewrites the file first, so that it has no free pages and can shrink in steps. */
  readonly compact?: boolean | undefined;
  /** Called before each step by which a file of an earlier version gets the form of this one; the log has a line, too. */
  readonly onUpdate?: ((step: UpdateStep) => void) | undefined;
}

/**
 * One SQLite file with one writer thread: WAL, `synchronous=FULL`, writes that arrive together
 * share one commit. Only one object in one process can have a file open.
 */
export class SqliteDatabase {
  /** Read-only, for a few rows at a time; sees every write whose promise has resolved. */
  readonly reader: DatabaseSync;
  readonly commits: CommitMeasurements;
  /** Absolute path. */
  readonly file: string;
  readonly #connections: Connections;
  #closing: Promise<void> | undefined;

  private constructor(file: string, reader: DatabaseSync, connections: Connections) {
    this.file = file;
    this.reader = reader;
    this.commits = connections.commits;
    this.#connections = connections;
  }

  /**
   * Opens the file and brings the tables of all modules up to date.
   *
   * Rejects with a {@link SqliteError}: `IN_USE` when someone else has it open, `UNAVAILABLE` when the
   * file or disk does not allow it, `FAILED` when a module or a migration is at fault.
   */
  static async open(options: SqliteDatabaseOptions): Promise<SqliteDatabase> {
    const lock = acquireLock(options.file);
    try {
      makePrivate(options.file);
      const connections = new Connections(options, lock);
      return new SqliteDatabase(options.file, await connections.open(), connections);
    } catch (error) {
      lock.release();
      throw asOpenError(options.file, error);
    }
  }

  /**
   * Carries out an operation of a module (`"<module>.<operation>"`) and resolves with what it
   * returned, after the fsync of its commit. Writes are carried out in the order of the calls.
   *
   * `args` is cloned at the end of the event loop's turn and must not change before; byte arrays are
   * cheap when they are `args` itself, its items or its values. Rejects with a {@link SqliteError}:
   * `UNAVAILABLE`, `CLOSED` or `FAILED`.
   */
  write<Result>(operation: string, args: unknown): Promise<Result> {
    if (this.#closing !== undefined) {
      return Promise.reject(new SqliteError("CLOSED", "The database is closing and takes no more writes."));
    }
    return this.#connections.queue.push(operation, args) as Promise<Result>;
  }

  /**
   * Carries out an operation like {@link write}, when the write that was asked for right before it, in the same turn of
   * the event loop, has returned nothing; otherwise it does nothing and resolves with {@link NOT_CARRIED_OUT}. Both
   * share a commit, or nothing is done: the caller carries it out later.
   */
  writeFollowing<Result>(operation: string, args: unknown): Promise<Result | typeof NOT_CARRIED_OUT> {
    return this.write(following(operation), args);
  }

  /**
   * Carries out a read of a module (`"<module>.<read>"`) in the thread for reads; it sees every write whose promise
   * has resolved before the call. Rejects with a {@link SqliteError} as `write` does.
   */
  read<Result>(read: string, args: unknown): Promise<Result> {
    if (this.#closing !== undefined) {
      return Promise.reject(new SqliteError("CLOSED", "The database is closing and takes no more reads."));
    }
    return this.#connections.reads.read(read, args) as Promise<Result>;
  }

  /** Finishes what was handed over, then releases the file. Calls after the first wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#connections.close(this.reader);
    return this.#closing;
  }
}

function acquireLock(file: string): FileLock {
  try {
    return FileLock.acquire(file);
  } catch (error) {
    throw asOpenError(`${file}.lock`, error);
  }
}

function asOpenError(path: string, error: unknown): SqliteError {
  if (error instanceof SqliteError) return error;
  return new SqliteError("UNAVAILABLE", describeOpenError(path, error), { cause: error });
}

/** The threads behind a database and how they are wired. */
class Connections {
  readonly queue: WriteQueue;
  readonly commits = new CommitMeasurements();
  readonly writer: WriterThread;
  readonly reads: ReaderThread;
  readonly #file: string;
  readonly #checkpoints: Checkpoints;
  readonly #lock: FileLock;

  constructor(options: SqliteDatabaseOptions, lock: FileLock) {
    const { file, logger } = options;
    this.#file = file;
    this.#lock = lock;
    this.#checkpoints = new Checkpoints(file, (how) => this.#finishCheckpoint(how), { logger });
    const logRestart = new LogRestart().shared;
    this.reads = new ReaderThread({ file, modules: options.modules.map(String), logRestart });
    this.queue = new WriteQueue((batch, transfer) => this.writer.post(batch, transfer));
    this.writer = new WriterThread(
      {
        file,
        modules: options.modules.map(String),
        acceptLoss: options.acceptLoss,
        compact: options.compact,
        logRestart,
      },
      {
        committed: (reply) => {
          this.queue.settle(reply);
          this.commits.size.observe(reply.count);
          this.commits.seconds.observe(reply.ms / 1_000);
          this.commits.logBytes = reply.logBytes;
          this.#checkpoints.observe(reply.logBytes);
        },
        checkpointed: () => this.#checkpoints.finished(),
        updating: (step) => {
          if (step.done === 0) logger?.info({ file, steps: step.total }, "bringing the database up to date");
          options.onUpdate?.(step);
        },
        lost: (error) => {
          this.queue.rejectSent(error);
          this.#checkpoints.finished();
        },
      },
      logger,
    );
  }

  /** Starts the writer and resolves with the connection that reads; nothing is left running when it rejects. */
  async open(): Promise<DatabaseSync> {
    await this.writer.start();
    try {
      return openReadConnection(this.#file);
    } catch (error) {
      await this.writer.close();
      throw error;
    }
  }

  #finishCheckpoint(how: FinishCheckpoint): void {
    try {
      this.writer.post(how);
    } catch {
      // Without a writer there is nothing to finish: its successor starts the log over.
      this.#checkpoints.finished();
    }
  }

  /** The writer goes last: the last connection puts the log away. */
  async close(reader: DatabaseSync): Promise<void> {
    this.queue.flush();
    await this.queue.idle();
    await this.#checkpoints.close();
    await this.reads.close();
    reader.close();
    await this.writer.close();
    this.#lock.release();
  }
}
