import { reasonOf } from "../../../core/reason-of.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isEnvironmental } from "./errors.ts";

/** Operations and their arguments, one to one, in the order in which they were asked for. */
export interface WriteBatch {
  readonly operations: readonly string[];
  readonly args: readonly unknown[];
}

/** The outcome of a batch: a result or a failure for each write. */
export interface CommitOutcome {
  /** `null` when no write of the batch returned anything. */
  readonly results: readonly unknown[] | null;
  readonly failures: readonly WriteFailure[];
}

export interface WriteFailure {
  /** Position in the batch. */
  readonly index: number;
  readonly code: "UNAVAILABLE" | "FAILED";
  readonly message: string;
}

type Operation = (args: unknown) => unknown;

/** Before the name of a write that is carried out only when the one before it has returned nothing. */
const FOLLOWING = "following ";
/** The result of a write that was not carried out, because the one before it returned something, failed, or was in another commit. */
export const NOT_CARRIED_OUT = null;

/** The name of an operation as the second of two writes that are asked for together. */
export function following(operation: string): string {
  return FOLLOWING + operation;
}

/**
 * Carries out many writes in one transaction, so that they share one fsync.
 *
 * All writes run without savepoints first: nearly always all succeed, and two more statements a
 * write would be a third of its cost. When one throws, the transaction is rolled back and the batch
 * is run again with a savepoint each, so that the one that throws is undone alone. So an operation
 * may run twice, and must not depend on anything but its arguments and the database.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #operations: ReadonlyMap<string, Operation>;
  /** The same ones, by their names as second writes. */
  readonly #following: ReadonlyMap<string, Operation>;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;
  readonly #undo: StatementSync;

  constructor(database: DatabaseSync, operations: ReadonlyMap<string, Operation>) {
    this.#database = database;
    this.#operations = operations;
    this.#following = new Map([...operations].map(([name, operation]) => [following(name), operation]));
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#savepoint = database.prepare("SAVEPOINT write");
    this.#release = database.prepare("RELEASE write");
    this.#undo = database.prepare("ROLLBACK TO write");
  }

  /**
   * Everything but the failures is on disk when this returns. Throws only when a transaction can
   * be neither committed nor rolled back, and then the connection is of no more use.
   */
  commit(batch: WriteBatch): CommitOutcome {
    try {
      return this.#together(batch);
    } catch (error) {
      this.#rollback();
      if (isEnvironmental(error)) return refuseAll(batch, "UNAVAILABLE", error);
    }
    try {
      return this.#oneByOne(batch);
    } catch (error) {
      this.#rollback();
      return refuseAll(batch, isEnvironmental(error) ? "UNAVAILABLE" : "FAILED", error);
    }
  }

  #together(batch: WriteBatch): CommitOutcome {
    const { operations, args } = batch;
    const results: unknown[] = [];
    let silent = true;
    let result: unknown = NOT_CARRIED_OUT;
    this.#begin.run();
    for (let index = 0; index < operations.length; index++) {
      result = this.#run(operations[index]!, args[index], result);
      if (result !== undefined) silent = false;
      results.push(result);
    }
    this.#commit.run();
    return { results: silent ? null : results, failures: [] };
  }

  #oneByOne(batch: WriteBatch): CommitOutcome {
    const { operations, args } = batch;
    const results: unknown[] = [];
    const failures: WriteFailure[] = [];
    let before: unknown = NOT_CARRIED_OUT;
    this.#begin.run();
    for (let index = 0; index < operations.length; index++) {
      this.#savepoint.run();
      try {
        before = this.#run(operations[index]!, args[index], before);
        results.push(before);
      } catch (error) {
        before = NOT_CARRIED_OUT;
        if (isEnvironmental(error)) throw error;
        this.#undo.run();
        failures.push({ index, code: "FAILED", message: reasonOf(error) });
        results.push(undefined);
      }
      this.#release.run();
    }
    this.#commit.run();
    return { results, failures };
  }

  /** `before` is the result of the write before it. */
  #run(name: string, args: unknown, before: unknown): unknown {
    const operation = this.#operations.get(name);
    if (operation !== undefined) return operation(args);
    const second = this.#following.get(name);
    if (second === undefined) throw new Error(`No module of this database has the operation ${name}.`);
    return before === undefined ? second(args) : NOT_CARRIED_OUT;
  }

  /** Some errors have ended the transaction already. */
  #rollback(): void {
    if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
  }
}

function refuseAll(batch: WriteBatch, code: WriteFailure["code"], error: unknown): CommitOutcome {
  const message = reasonOf(error);
  return { results: null, failures: batch.operations.map((_, index) => ({ index, code, message })) };
}
