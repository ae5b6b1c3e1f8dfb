import type { Worker } from "node:worker_threads";
import type { FinishCheckpoint } from "./checkpoints.ts";
import { describeOpenError, SqliteError } from "./errors.ts";
import type { WriteBatch, WriteFailure } from "./group-commit.ts";
import type { UpdateStep } from "./migrate.ts";
import type { SqliteLogger } from "./module.ts";
import { startThread } from "./start-thread.ts";

const FIRST_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 10_000;
/** A thread that lived this long makes earlier deaths forgotten. */
const HEALTHY_AFTER_MS = 60_000;

/** The notifications to the owner of the thread. */
export interface WriterThreadListener {
  committed(reply: CommittedReply): void;
  checkpointed(): void;
  /** The file is brought into the form of this version, before the thread is ready. */
  updating(step: UpdateStep): void;
  /** The thread died: nothing that was handed to it is answered any more. */
  lost(error: SqliteError): void;
}

/**
 * The thread that writes. When it dies it is started again by the next request, at once at first
 * and then at growing distances; in between requests are refused with `UNAVAILABLE`.
 */
export class WriterThread {
  #start: WriterStart;
  readonly #listener: WriterThreadListener;
  readonly #logger: SqliteLogger | undefined;
  #worker: Worker | undefined;
  /** Of the monotonic clock, like `#notBeforeMs`: a wall clock that is set back must not keep the thread from starting. */
  #startedMs = 0;
  #deaths = 0;
  #notBeforeMs = 0;
  #closing = false;

  constructor(start: WriterStart, listener: WriterThreadListener, logger?: SqliteLogger) {
    this.#start = start;
    this.#listener = listener;
    this.#logger = logger;
  }

  /** Resolves when the file is open and migrated; rejects with a {@link SqliteError}. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#launch({ resolve, reject });
    });
  }

  /** Throws a {@link SqliteError} `UNAVAILABLE` while the thread may not be started again. */
  post(request: WriterRequest, transfer: readonly ArrayBuffer[] = []): void {
    this.#running().postMessage(request, transfer);
  }

  /** Resolves when the thread has closed the file and ended. */
  async close(): Promise<void> {
    this.#closing = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    await new Promise((resolve) => {
      worker.once("exit", resolve);
      worker.postMessage("close" satisfies WriterRequest);
    });
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    if (performance.now() < this.#notBeforeMs) {
      throw new SqliteError("UNAVAILABLE", "The writer thread of the database ended and is not yet started again.");
    }
    this.#logger?.info({ file: this.#start.file, deaths: this.#deaths }, "starting the writer thread again");
    return this.#launch();
  }

  #launch(opening?: { resolve: () => void; reject: (error: SqliteError) => void }): Worker {
    const worker = startThread("writer-worker", import.meta.url, { name: "sqlite-writer", workerData: this.#start });
    let cause: unknown;
    let waiting = opening;
    worker.on("message", (reply: WriterReply) => {
      if (reply.kind === "committed") {
        this.#listener.committed(reply);
      } else if (reply.kind === "checkpointed") {
        this.#listener.checkpointed();
      } else if (reply.kind === "updating") {
        this.#listener.updating(reply.step);
      } else if (reply.kind === "ready") {
        if (reply.accepted !== undefined) {
          this.#logger?.warn({ file: this.#start.file, loss: reply.accepted }, "a loss of accepted calls was accepted");
        }
        waiting?.resolve();
        waiting = undefined;
        // Asked for this once: after a death, calls wait for no other rewriting, and a new loss is not accepted.
        this.#start = { ...this.#start, acceptLoss: false, compact: false };
      } else {
        cause = new SqliteError(reply.environmental ? "UNAVAILABLE" : "FAILED", reply.message);
      }
    });
    worker.on("error", (error: unknown) => {
      cause = error;
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      if (waiting !== undefined) waiting.reject(asSqliteError(this.#start.file, cause));
      else if (!this.#closing) this.#died(cause);
    });
    this.#worker = worker;
    this.#startedMs = performance.now();
    return worker;
  }

  #died(cause: unknown): void {
    const nowMs = performance.now();
    if (nowMs - this.#startedMs >= HEALTHY_AFTER_MS) this.#deaths = 0;
    const delayMs = this.#deaths === 0 ? 0 : FIRST_RESTART_DELAY_MS * 2 ** (this.#deaths - 1);
    this.#notBeforeMs = nowMs + Math.min(delayMs, MAX_RESTART_DELAY_MS);
    this.#deaths++;
    this.#logger?.warn({ file: this.#start.file, err: cause }, "the writer thread of the database ended");
    this.#listener.lost(new SqliteError("UNAVAILABLE", "The writer thread of the database ended.", { cause }));
  }
}

function asSqliteError(file: string, cause: unknown): SqliteError {
  if (cause instanceof SqliteError) return cause;
  const reason = cause === undefined ? "" : ` (${describeOpenError(file, cause)})`;
  const advice = "Check the memory of the machine and the limit of open files (ulimit -n).";
  const message = `The writer thread of the database ${file} ended before it was ready${reason}. ${advice}`;
  return new SqliteError("FAILED", message, { cause });
}

/** Data with which the writer thread is started. */
export interface WriterStart {
  readonly file: string;
  /** File URLs of modules that export `sqliteModule`. */
  readonly modules: readonly string[];
  /** Opens the file also when commits are missing. */
  readonly acceptLoss?: boolean | undefined;
  /** Rewrites the file first. */
  readonly compact?: boolean | undefined;
  /** Of the {@link LogRestart} that the thread for reads has too. */
  readonly logRestart: SharedArrayBuffer;
}

export type WriterRequest = WriteBatch | FinishCheckpoint | "close";

export type WriterReply =
  | { readonly kind: "ready"; readonly accepted: string | undefined }
  | { readonly kind: "updating"; readonly step: UpdateStep }
  | { readonly kind: "refused"; readonly message: string; readonly environmental: boolean }
  /** Answers `finish-checkpoint` and `restart-log`. */
  | { readonly kind: "checkpointed" }
  | CommittedReply;

/** The answer to the `count` oldest writes that are not answered yet. */
export interface CommittedReply {
  readonly kind: "committed";
  readonly count: number;
  readonly results: readonly unknown[] | null;
  readonly failures: readonly WriteFailure[];
  readonly logBytes: number;
  /** Duration of the commit, its fsync included. */
  readonly ms: number;
}
