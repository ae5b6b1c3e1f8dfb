import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type CommitOutcome, GroupCommit, type WriteBatch } from "./group-commit.ts";
import { migrate } from "./migrate.ts";
import { openWriteConnection } from "./open-connection.ts";
import type { SqliteModule } from "./module.ts";

/**
 * The one connection that writes: opened, migrated, with the operations of all modules prepared.
 */
export class Writer {
  readonly #database: DatabaseSync;
  readonly #commits: GroupCommit;
  readonly #measureLog: StatementSync;
  readonly #copyLog: StatementSync;
  readonly #restartLog: StatementSync;
  readonly #pageBytes: number;

  constructor(database: DatabaseSync, modules: readonly SqliteModule[]) {
    this.#database = database;
    this.#commits = new GroupCommit(database, operationsOf(database, modules));
    this.#measureLog = database.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#copyLog = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#restartLog = database.prepare("PRAGMA wal_checkpoint(RESTART)");
    this.#pageBytes = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
  }

  /** Rejects when the file cannot be opened or a migration fails; nothing stays open then. */
  static async open(file: string, modules: readonly SqliteModule[]): Promise<Writer> {
    const database = openWriteConnection(file);
    try {
      for (const module of modules) await migrate(database, module);
      return new Writer(database, modules);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  commit(batch: WriteBatch): CommitOutcome {
    return this.#commits.commit(batch);
  }

  /** Bytes of the write-ahead log that readers may have to search. */
  logBytes(): number {
    const frames = Number(this.#measureLog.get()?.["log"]);
    return frames * this.#pageBytes;
  }

  /**
   * Copies what the other thread's checkpoint has left, which is little, so that the next commit
   * starts the log over. `wait` also waits for readers. False when it was not possible now.
   */
  finishCheckpoint(options: { wait: boolean }): boolean {
    try {
      const row = (options.wait ? this.#restartLog : this.#copyLog).get();
      return row?.["busy"] === 0;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#database.close();
  }
}

function operationsOf(database: DatabaseSync, modules: readonly SqliteModule[]) {
  const operations = new Map<string, (args: unknown) => unknown>();
  for (const module of modules) {
    for (const [name, operation] of Object.entries(module.operations(database))) {
      operations.set(`${module.name}.${name}`, operation as (args: unknown) => unknown);
    }
  }
  return operations;
}
