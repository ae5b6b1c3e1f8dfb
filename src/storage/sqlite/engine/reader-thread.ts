import type { Worker } from "node:worker_threads";
import { reasonOf } from "../../../core/reason-of.ts";
import { SqliteError } from "./errors.ts";
import { startThread } from "./start-thread.ts";

/** Reads that may wait at once; each answer may be large. */
const MAX_WAITING = 1_000;
/** A thread that has had nothing to read for so long ends, and gives back its memory. */
const IDLE_MS = 30_000;

/** Data with which the reader thread is started. */
export interface ReaderStart {
  readonly file: string;
  /** File URLs of modules that export `sqliteModule`. */
  readonly modules: readonly string[];
  /** Of the {@link LogRestart} that the writer thread has too. */
  readonly logRestart: SharedArrayBuffer;
}

export type ReaderRequest = { readonly id: number; readonly read: string; readonly args: unknown } | "close";

export type ReaderReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: string };

interface Caller {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: SqliteError) => void;
}

/**
 * The thread that carries out reads of more than a few rows, on a connection of its own: what a person searches for
 * keeps no call waiting. It starts with the first read, and again after it has died or had nothing to do.
 */
export class ReaderThread {
  readonly #start: ReaderStart;
  readonly #idleMs: number;
  readonly #waiting = new Map<number, Caller>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  #onDone: (() => void) | undefined;

  constructor(start: ReaderStart, { idleMs = IDLE_MS }: { readonly idleMs?: number } = {}) {
    this.#start = start;
    this.#idleMs = idleMs;
  }

  /** Rejects with a {@link SqliteError}: `UNAVAILABLE` when too many wait or the thread died, `FAILED` otherwise. */
  read(read: string, args: unknown): Promise<unknown> {
    if (this.#waiting.size >= MAX_WAITING) {
      return Promise.reject(new SqliteError("UNAVAILABLE", `${MAX_WAITING} reads are waiting already.`));
    }
    clearTimeout(this.#idle);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      try {
        this.#running().postMessage({ id, read, args } satisfies ReaderRequest);
        this.#waiting.set(id, { resolve, reject });
      } catch (error) {
        reject(new SqliteError("UNAVAILABLE", `The thread that reads cannot be used: ${reasonOf(error)}`));
      }
    });
  }

  /** Finishes what was asked for, and resolves when the thread has ended. */
  async close(): Promise<void> {
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => (this.#onDone = resolve));
    await this.#end();
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    await new Promise((resolve) => {
      worker.once("exit", resolve);
      worker.postMessage("close" satisfies ReaderRequest);
    });
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = startThread("reader-worker", import.meta.url, { name: "sqlite-reader", workerData: this.#start });
    let cause: unknown;
    worker.on("message", (reply: ReaderReply) => {
      this.#settle(reply);
    });
    worker.on("error", (error: unknown) => {
      cause = error;
    });
    worker.on("exit", () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#rejectAll(cause);
    });
    this.#worker = worker;
    return worker;
  }

  #settle(reply: ReaderReply): void {
    const caller = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ("result" in reply) caller?.resolve(reply.result);
    else caller?.reject(new SqliteError("FAILED", reply.failure));
    if (this.#waiting.size > 0) return;
    this.#onDone?.();
    this.#idle = setTimeout(() => void this.#end(), this.#idleMs).unref();
  }

  #rejectAll(cause: unknown): void {
    const why = cause === undefined ? "" : `: ${reasonOf(cause)}`;
    const error = new SqliteError("UNAVAILABLE", `The thread that reads ended${why}.`, { cause });
    const callers = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const caller of callers) caller.reject(error);
    this.#onDone?.();
  }
}
