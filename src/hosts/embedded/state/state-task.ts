/**
 * What the embedded gateway's state does, written once for every database: a task yields statements, and whoever
 * carries it out gives back their rows.
 */
import type { RowOf, RowShape } from "../../../storage/sqlite/engine/row-query.ts";

export type StateValue = string | number | null;

/** Statements with the parameters `$1`, `$2`, and so on; one text where both databases read the same. */
export type StateSql = string | { readonly sqlite: string; readonly postgres: string };

export interface StateQuery<Row> {
  readonly sqlite: string;
  readonly postgres: string;
  /** False: it returns no rows, but the number of rows that it changed. */
  readonly hasRows: boolean;
  /** Rows have this shape; never set. */
  readonly row?: Row;
}

/** One statement that a task asks for. */
export interface StateStep {
  readonly query: StateQuery<unknown>;
  readonly values: readonly StateValue[];
  /** Of rows with a `text`, the first ones whose texts have so many characters together; the first in any case. */
  readonly maxChars?: number;
}

/** A task that resolves with `Result`; it depends on nothing but its arguments and the database. */
export type StateTask<Result> = Generator<StateStep, Result, readonly unknown[] | number>;

/** A query whose rows are read as `shape` says. The tests of each query hold it to its table. */
export function query<const Shape extends RowShape>(_shape: Shape, sql: StateSql): StateQuery<RowOf<Shape>> {
  return { ...textsOf(sql), hasRows: true };
}

export function command(sql: StateSql): StateQuery<never> {
  return { ...textsOf(sql), hasRows: false };
}

/** Several gateways write in PostgreSQL: whoever reads a row to change it keeps the others from it until its commit. */
export function locked(sql: string): StateSql {
  return { sqlite: sql, postgres: `${sql} FOR UPDATE` };
}

/** Integers of a parameter, which is their JSON. */
export function integersOf(parameter: string, text: (list: string) => string): StateSql {
  return {
    sqlite: text(`(SELECT value FROM json_each(${parameter}))`),
    postgres: text(`(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(${parameter} AS jsonb)) AS v)`),
  };
}

/** Texts of a parameter, which is their JSON. */
export function namesOf(parameter: string, text: (list: string) => string): StateSql {
  return {
    sqlite: text(`(SELECT value FROM json_each(${parameter}))`),
    postgres: text(`(SELECT jsonb_array_elements_text(CAST(${parameter} AS jsonb)))`),
  };
}

export function* rows<Row>(asked: StateQuery<Row>, ...values: readonly StateValue[]): StateTask<readonly Row[]> {
  return (yield { query: asked, values }) as readonly Row[];
}

export function* first<Row>(asked: StateQuery<Row>, ...values: readonly StateValue[]): StateTask<Row | undefined> {
  return (yield* rows(asked, ...values))[0];
}

/** The first rows that fit, at least one when there is one; the last parameter of the statement is their most. */
export function* fitting<Row extends { readonly text: string }>(
  asked: StateQuery<Row>,
  maxChars: number,
  ...values: readonly StateValue[]
): StateTask<readonly Row[]> {
  return (yield { query: asked, values, maxChars }) as readonly Row[];
}

/** The number of rows that it changed. */
export function* run(asked: StateQuery<never>, ...values: readonly StateValue[]): StateTask<number> {
  return (yield { query: asked, values }) as number;
}

/** Ends at the first row that does not fit: what comes after it is not read. */
export function takeWhileFits(given: Iterable<unknown>, maxChars: number): readonly unknown[] {
  const taken: unknown[] = [];
  let chars = 0;
  for (const row of given) {
    chars += (row as { readonly text: string }).text.length;
    if (taken.length > 0 && chars > maxChars) break;
    taken.push(row);
  }
  return taken;
}

function textsOf(sql: StateSql): Pick<StateQuery<unknown>, "sqlite" | "postgres"> {
  const { sqlite, postgres } = typeof sql === "string" ? { sqlite: sql, postgres: sql } : sql;
  return {
    sqlite: sqlite.replaceAll(/\$(\d+)/gu, "?$1"),
    postgres: postgres.replaceAll(/\bembedded_(\w+)/gu, "reveille.embedded_$1"),
  };
}
