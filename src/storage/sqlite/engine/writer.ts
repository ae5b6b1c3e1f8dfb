import { reasonOf } from "../../../core/reason-of.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { isEnvironmental } from "./errors.ts";
import { type CommitOutcome, GroupCommit, type WriteBatch } from "./group-commit.ts";
import { migrate } from "./migrate.ts";
import type { SqliteModule } from "./module.ts";
import { openWriteConnection } from "./open-connection.ts";
import type { WriterReply, WriterRequest, WriterStart } from "./writer-thread.ts";

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
      for (const module of modules) migrate(database, module);
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

/** Writes of one commit; beyond, the first of them would wait too long for the last. */
const MAX_WRITES_PER_COMMIT = 512;

/**
 * Serves the writes of a port until a message closes it.
 *
 * Group commit without a timer: the writes that arrive on the port during one commit share the next one, and
 * a single write commits at once.
 */
export async function serveWriter(port: MessagePort, start: WriterStart): Promise<void> {
  const reply = (message: WriterReply) => port.postMessage(message);
  let writer: Writer;
  try {
    writer = await Writer.open(start.file, await Promise.all(start.modules.map(importSqliteModule)));
  } catch (error) {
    const message = reasonOf(error);
    reply({ kind: "refused", message, environmental: isEnvironmental(error) });
    port.close();
    return;
  }

  const commit = (batch: WriteBatch) => {
    const outcome = writer.commit(batch);
    reply({ kind: "committed", count: batch.operations.length, ...outcome, logBytes: writer.logBytes() });
  };
  port.on("message", (first: WriterRequest) => {
    const operations: string[] = [];
    const args: unknown[] = [];
    let request: WriterRequest | undefined = first;
    while (request !== undefined && typeof request !== "string") {
      operations.push(...request.operations);
      args.push(...request.args);
      if (operations.length >= MAX_WRITES_PER_COMMIT) break;
      request = nextRequest(port);
    }
    for (let from = 0; from < operations.length; from += MAX_WRITES_PER_COMMIT) {
      const to = from + MAX_WRITES_PER_COMMIT;
      commit({ operations: operations.slice(from, to), args: args.slice(from, to) });
    }
    if (request === "finish-checkpoint" || request === "restart-log") {
      writer.finishCheckpoint({ wait: request === "restart-log" });
      reply({ kind: "checkpointed" });
    }
    if (request === "close") {
      writer.close();
      port.close();
    }
  });
  reply({ kind: "ready" });
}

function nextRequest(port: MessagePort): WriterRequest | undefined {
  return receiveMessageOnPort(port)?.message as WriterRequest | undefined;
}

async function importSqliteModule(url: string): Promise<SqliteModule> {
  const exported = (await import(url)) as { sqliteModule?: SqliteModule };
  if (exported.sqliteModule === undefined) throw new Error(`${url} does not export sqliteModule.`);
  return exported.sqliteModule;
}
