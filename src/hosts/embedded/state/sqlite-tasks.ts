import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type StateQuery, type StateStep, type StateTask, takeWhileFits } from "./state-task.ts";

/** Carries tasks out on a connection, each at once; a statement is prepared when it is first needed. */
export function sqliteTasks(database: DatabaseSync): <Result>(task: StateTask<Result>) => Result {
  const prepared = new Map<StateQuery<unknown>, StatementSync>();
  const carryOut = ({ query, values, maxChars }: StateStep): readonly unknown[] | number => {
    let statement = prepared.get(query);
    if (statement === undefined) prepared.set(query, (statement = database.prepare(query.sqlite)));
    if (!query.hasRows) return Number(statement.run(...values).changes);
    return maxChars === undefined ? statement.all(...values) : takeWhileFits(statement.iterate(...values), maxChars);
  };
  return (task) => {
    for (let step = task.next([]); ;) {
      if (step.done === true) return step.value;
      step = task.next(carryOut(step.value));
    }
  };
}
