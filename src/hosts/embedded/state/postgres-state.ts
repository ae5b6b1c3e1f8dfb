import type { PostgresDatabase } from "../../../storage/postgres/engine/database.ts";
import type { WriteOperation } from "../../../storage/postgres/engine/write-group.ts";
import { carryOut } from "./postgres-tasks.ts";
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
import { type StateWrites, stateWrites } from "./state-writes.ts";

/** Each try of its transaction has a task of its own. */
type MakeTask = () => StateTask<unknown>;

/** Tasks of one transaction, one after the other, in the order of the calls. */
const carryOutAll: WriteOperation<MakeTask, unknown> = {
  keysOf: () => [],
  async run(session, tasks) {
    const results: unknown[] = [];
    for (const make of tasks) results.push(await carryOut(session, make()));
    return results;
  },
};

/**
 * The state in the database of `hooks.store`. It is written over the connection that holds the lock of the database,
 * as runs are: what a gateway writes that has lost the lock does not take effect.
 */
export class PostgresState implements StateStore {
  readonly #database: PostgresDatabase;
  readonly #writes = stateWrites({ isShared: true });

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  get isShared(): boolean {
    return this.#database.isShared;
  }

  async write<Name extends WriteName>(
    name: Name,
    ...args: ArgsOf<StateWrites, Name>
  ): Promise<ResultOf<StateWrites, Name>> {
    const task = this.#writes[name] as (...args: ArgsOf<StateWrites, Name>) => StateTask<unknown>;
    return (await this.#database.write(carryOutAll, () => task(...args))) as ResultOf<StateWrites, Name>;
  }

  operation(): undefined {
    return undefined;
  }

  read<Name extends ReadName>(name: Name, ...args: ArgsOf<Reads, Name>): Promise<ResultOf<Reads, Name>> {
    return this.#database.read((session) => carryOut(session, readTask(name, args)));
  }

  tryWrite(): Promise<void> {
    return this.#database.confirm();
  }

  confirmPlace(): Promise<void> {
    return this.#database.confirm();
  }
}
