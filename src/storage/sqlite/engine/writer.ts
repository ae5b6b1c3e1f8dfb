import { randomInt } from "node:crypto";
import { copyFileSync, existsSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { CommitMark, findLoss, findReplacement, markFile } from "./commit-mark.ts";
import { describeOpenError, isEnvironmental } from "./errors.ts";
import { type CommitOutcome, GroupCommit, type WriteBatch } from "./group-commit.ts";
import { LogRestart } from "./log-restart.ts";
import { migrate, type UpdateStep } from "./migrate.ts";
import { importSqliteModule, type SqliteModule } from "./module.ts";
import { openWriteConnection } from "./open-connection.ts";
import { rewriteToShrink } from "./rewrite-file.ts";
import type { WriterReply, WriterRequest, WriterStart } from "./writer-thread.ts";

/**
 * The one connection that writes: opened, migrated, with the operations of all modules prepared.
 */
export class Writer {
  /** The loss that the owner accepted at this start. */
  readonly accepted: string | undefined;
  readonly #database: DatabaseSync;
  readonly #mark: CommitMark;
  readonly #commits: GroupCommit;
  readonly #measureLog: StatementSync;
  readonly #copyLog: StatementSync;
  readonly #restartLog: StatementSync;
  readonly #pageBytes: number;

  constructor(database: DatabaseSync, modules: readonly SqliteModule[], opened: OpenedFile) {
    this.accepted = opened.accepted;
    this.#database = database;
    this.#mark = opened.mark;
    this.#commits = new GroupCommit(database, operationsOf(database, modules));
    this.#measureLog = database.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#copyLog = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#restartLog = database.prepare("PRAGMA wal_checkpoint(RESTART)");
    this.#pageBytes = pageBytesOf(database);
    this.#recordCommit();
  }

  /**
   * Rejects when the file cannot be opened, a migration fails, or commits are missing that `acceptLoss` does
   * not accept; nothing stays open then.
   */
  static async open(
    file: string,
    modules: readonly SqliteModule[],
    options: Pick<WriterStart, "acceptLoss" | "compact"> & { readonly onStep?: (step: UpdateStep) => void } = {},
  ): Promise<Writer> {
    const loss = refuseLoss(file, findLoss(file), options);
    if (loss !== undefined) keepDamagedLog(file);
    const database = openWriteConnection(file);
    try {
      for (const module of modules) migrate(database, module, options.onStep);
      rewriteToShrink(database, { compact: options.compact === true }, options.onStep);
      const identity = identityOf(database);
      const accepted = loss ?? refuseLoss(file, findReplacement(file, identity), options);
      return new Writer(database, modules, {
        accepted,
        mark: new CommitMark(file, { identity, pageBytes: pageBytesOf(database) }),
      });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Gives also the bytes of the write-ahead log that readers may have to search. */
  commit(batch: WriteBatch): CommitOutcome & { readonly logBytes: number } {
    const outcome = this.#commits.commit(batch);
    return { ...outcome, logBytes: this.#recordCommit() * this.#pageBytes };
  }

  /**
   * Copies what the other thread's checkpoint has left, which is little, so that the next commit
   * starts the log over. `wait` also waits for readers. False when it was not possible now.
   */
  finishCheckpoint(options: { wait: boolean }): boolean {
    try {
      const row = (options.wait ? this.#restartLog : this.#copyLog).get();
      if (row === undefined) return false;
      this.#mark.record({ frames: Number(row["log"]), copied: Number(row["checkpointed"]) }, { sync: true });
      return row["busy"] === 0;
    } catch {
      return false;
    }
  }

  /** The mark says that the file has everything before SQLite removes the log. */
  close(): void {
    this.finishCheckpoint({ wait: false });
    this.#mark.close();
    this.#database.close();
  }

  /** The frames of the log. */
  #recordCommit(): number {
    const row = this.#measureLog.get();
    const frames = Number(row?.["log"]);
    this.#mark.record({ frames, copied: Number(row?.["checkpointed"]) });
    return frames;
  }
}

interface OpenedFile {
  readonly accepted: string | undefined;
  readonly mark: CommitMark;
}

/** Throws for a loss that is not accepted. */
function refuseLoss(
  file: string,
  loss: string | undefined,
  { acceptLoss }: { readonly acceptLoss?: boolean | undefined },
): string | undefined {
  if (loss === undefined || acceptLoss === true) return loss;
  throw new Error(
    `${loss} Restore the files from a backup. To continue without what is missing, start once with --accept-loss, or remove ${markFile(file)}.`,
  );
}

/** SQLite overwrites what it cannot read. */
function keepDamagedLog(file: string): void {
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${file}-wal.damaged`);
}

function pageBytesOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
}

/** A number in the header of the file that no other database has; chosen when the file is new. */
function identityOf(database: DatabaseSync): number {
  const known = Number(database.prepare("PRAGMA application_id").get()?.["application_id"]);
  if (known !== 0) return known >>> 0;
  const identity = randomInt(1, 0x7f_ff_ff_ff);
  database.exec(`PRAGMA application_id = ${identity}`);
  return identity;
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

/** Writes of one commit; with more, the first of them would wait too long for the last. */
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
    const onStep = (step: UpdateStep) => reply({ kind: "updating", step });
    const modules = await Promise.all(start.modules.map(importSqliteModule));
    writer = await Writer.open(start.file, modules, { ...start, onStep });
  } catch (error) {
    const message = describeOpenError(start.file, error);
    reply({ kind: "refused", message, environmental: isEnvironmental(error) });
    port.close();
    return;
  }

  const logRestart = new LogRestart(start.logRestart);
  const commit = (batch: WriteBatch) => {
    const startMs = performance.now();
    const outcome = writer.commit(batch);
    reply({ kind: "committed", count: batch.operations.length, ms: performance.now() - startMs, ...outcome });
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
      const wait = request === "restart-log";
      if (wait) logRestart.withoutReads(() => writer.finishCheckpoint({ wait }));
      else writer.finishCheckpoint({ wait });
      reply({ kind: "checkpointed" });
    }
    if (request === "close") {
      writer.close();
      port.close();
    }
  });
  reply({ kind: "ready", accepted: writer.accepted });
}

function nextRequest(port: MessagePort): WriterRequest | undefined {
  return receiveMessageOnPort(port)?.message as WriterRequest | undefined;
}
