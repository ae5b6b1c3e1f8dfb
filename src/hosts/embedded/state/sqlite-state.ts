import type { SqliteDatabase } from "../../../storage/sqlite/engine/database.ts";
import { sqliteTasks } from "./sqlite-tasks.ts";
import type { StateTask } from "./state-task.ts";
import {
  type ArgsOf,
  type ReadName,
  type Reads,
  readTask,
  type ResultOf,
  type StateStore,
  type WriteName,
} from "./state-store.ts";
import type { StateWrites } from "./state-writes.ts";

/** The state in the SQLite file of the state folder. */
export class SqliteState implements StateStore {
  readonly isShared = false;
  readonly #database: SqliteDatabase;
  readonly #carryOut: <Result>(task: StateTask<Result>) => Result;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#carryOut = sqliteTasks(database.reader);
  }

  write<Name extends WriteName>(
    name: Name,
    ...[args]: ArgsOf<StateWrites, Name>
  ): Promise<ResultOf<StateWrites, Name>> {
    return this.#database.write(this.operation(name), args);
  }

  operation(name: WriteName): string {
    return `embedded.${name}`;
  }

  async read<Name extends ReadName>(name: Name, ...args: ArgsOf<Reads, Name>): Promise<ResultOf<Reads, Name>> {
    return this.#carryOut(readTask(name, args));
  }

  tryWrite(): Promise<void> {
    return this.#database.write("embedded.tryWrite", {});
  }

  async confirmPlace(): Promise<void> {
    // The file has one process.
  }
}
