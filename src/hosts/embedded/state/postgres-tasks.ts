import { command, type Session, type Statement, statement } from "../../../storage/postgres/engine/statement.ts";
import { type StateQuery, type StateStep, type StateTask, takeWhileFits } from "./state-task.ts";

/** Of each query, and of each that reads as much as fits: the server prepares it once for each connection. */
const statements = new Map<StateQuery<unknown>, Statement<unknown>>();

/** Carries a task out on a connection. */
export async function carryOut<Result>(session: Session, task: StateTask<Result>): Promise<Result> {
  for (let step = task.next([]); ;) {
    if (step.done === true) return step.value;
    step = task.next(await carryOutStep(session, step.value));
  }
}

async function carryOutStep(
  session: Session,
  { query, values, maxChars }: StateStep,
): Promise<readonly unknown[] | number> {
  if (!query.hasRows)
    return session.run(
      statementOf(query, (text) => command(text)),
      ...values,
    );
  if (maxChars === undefined)
    return session.rows(
      statementOf(query, (text) => statement({}, text)),
      ...values,
    );
  const fits = statementOf(query, (text) => statement({}, fitting(text, values.length + 1)));
  return takeWhileFits(await session.rows(fits, ...values, maxChars), maxChars);
}

function statementOf<Row>(query: StateQuery<unknown>, make: (text: string) => Statement<Row>): Statement<Row> {
  let made = statements.get(query);
  if (made === undefined) statements.set(query, (made = make(query.postgres) as Statement<unknown>));
  return made as Statement<Row>;
}

/** Without the rows of which the ones before are too long already: their texts stay at the server. */
function fitting(text: string, parameter: number): string {
  return `SELECT * FROM (
    SELECT row_number() OVER () AS place, sum(length(text)) OVER (ROWS UNBOUNDED PRECEDING) - length(text) AS before, q.*
    FROM (${text}) AS q) AS r WHERE before <= $${parameter} ORDER BY place`;
}
