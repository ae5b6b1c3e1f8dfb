import { reasonOf } from "../../../core/reason-of.ts";
import type { Worker } from "node:worker_threads";
import type { CheckpointReply, CheckpointRequest } from "./serve-checkpoints.ts";
import type { SqliteLogger } from "./module.ts";
import { startThread } from "./start-thread.ts";

/** A checkpoint starts when the log is this long, and then after each further step of this length. */
const STEP_BYTES = 8 * 1024 * 1024;
/** Beyond this the writer waits for readers so that the log can start over. */
const CAP_BYTES = 64 * 1024 * 1024;
const RETRY_AFTER_MS = 1000;
/** With at most so many commits in this time a burst is over, and the writer copies the log itself. */
const PAUSE = { ms: 1000, commits: 20 };

/** The request to the writer; `restart-log` also waits for readers. */
export type FinishCheckpoint = "finish-checkpoint" | "restart-log";

/**
 * Keeps the write-ahead log short without stopping the writer.
 *
 * A second thread copies the log into the database file while writes continue. What they added
 * meanwhile, little, the writer copies itself between two commits (`finish`), and its next commit
 * starts the log over. A passive checkpoint alone would never catch up under steady load. After a burst the
 * writer copies what is left, so that a damaged log costs nothing that is older than a moment.
 */
export class Checkpoints {
  readonly #file: string;
  readonly #finish: (how: FinishCheckpoint) => void;
  readonly #logger: SqliteLogger | undefined;
  #worker: Worker | undefined;
  #busy = false;
  #startAtBytes = STEP_BYTES;
  /** Of the monotonic clock: a wall clock that is set back must not let the log grow. */
  #notBeforeMs = 0;
  #logBytes = 0;
  #pause: NodeJS.Timeout | undefined;
  #commits = 0;

  constructor(file: string, finish: (how: FinishCheckpoint) => void, options: { logger?: SqliteLogger } = {}) {
    this.#file = file;
    this.#finish = finish;
    this.#logger = options.logger;
  }

  /** To be called after each commit. */
  observe(logBytes: number): void {
    this.#logBytes = logBytes;
    this.#commits++;
    this.#pause ??= this.#awaitPause();
    if (logBytes < STEP_BYTES) {
      this.#startAtBytes = STEP_BYTES;
      return;
    }
    if (this.#busy || (logBytes < this.#startAtBytes && performance.now() < this.#notBeforeMs)) return;
    this.#busy = true;
    this.#startAtBytes = logBytes + STEP_BYTES;
    this.#notBeforeMs = performance.now() + RETRY_AFTER_MS;
    try {
      this.#worker ??= this.#launch();
      this.#worker.postMessage("checkpoint" satisfies CheckpointRequest);
    } catch (error) {
      // The process has as many threads as it may: what is thrown here would end it.
      this.#failed(reasonOf(error));
    }
  }

  /** To be called when the writer has done what `finish` asked for, or has died. */
  finished(): void {
    this.#busy = false;
  }

  async close(): Promise<void> {
    clearTimeout(this.#pause);
    const worker = this.#worker;
    if (worker === undefined) return;
    await new Promise((resolve) => {
      worker.once("exit", resolve);
      worker.postMessage("close" satisfies CheckpointRequest);
    });
  }

  #awaitPause(): NodeJS.Timeout {
    this.#commits = 0;
    return setTimeout(() => {
      const isOver = this.#commits <= PAUSE.commits && !this.#busy;
      this.#pause = isOver ? undefined : this.#awaitPause();
      if (!isOver) return;
      this.#busy = true;
      this.#finish("finish-checkpoint");
    }, PAUSE.ms).unref();
  }

  #launch(): Worker {
    const worker = startThread("checkpoint-worker", import.meta.url, {
      name: "sqlite-checkpoints",
      workerData: { file: this.#file },
    });
    worker.on("message", (reply: CheckpointReply) => {
      if (reply.ok) {
        this.#finish(this.#logBytes > CAP_BYTES ? "restart-log" : "finish-checkpoint");
        return;
      }
      this.#failed(reply.message);
    });
    worker.on("error", (error) => this.#failed(reasonOf(error)));
    worker.on("exit", () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      // A thread that ends carries out no further request.
      this.#busy = false;
    });
    return worker;
  }

  #failed(message: string): void {
    this.#busy = false;
    this.#logger?.warn({ file: this.#file, reason: message }, "the write-ahead log could not be copied; trying again");
  }
}
