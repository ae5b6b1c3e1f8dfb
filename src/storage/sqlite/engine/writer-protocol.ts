/** What the main thread and the writer thread say to each other. */
import type { FinishCheckpoint } from "./checkpoints.ts";
import type { WriteBatch, WriteFailure } from "./group-commit.ts";

/** Data with which the writer thread is started. */
export interface WriterStart {
  readonly file: string;
  /** File URLs of modules that export `sqliteModule`. */
  readonly modules: readonly string[];
}

export type WriterRequest = WriteBatch | FinishCheckpoint | "close";

export type WriterReply =
  | { readonly kind: "ready" }
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
}
