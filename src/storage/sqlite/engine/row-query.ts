import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** The result of a query: its columns by name, in any order, each with its type; `?` where it may be `NULL`. */
export type RowShape = Readonly<Record<string, ColumnKind>>;

type ColumnKind = "integer" | "integer?" | "real" | "text" | "text?" | "blob" | "blob?";

interface Values {
  readonly integer: number;
  readonly real: number;
  readonly text: string;
  readonly blob: Uint8Array;
}

type ValueOf<Kind extends ColumnKind> = Kind extends `${infer Base extends keyof Values}?`
  ? Values[Base] | null
  : Kind extends keyof Values
    ? Values[Kind]
    : never;

/** A row of that shape. */
export type RowOf<Shape extends RowShape> = { readonly [Column in keyof Shape]: ValueOf<Shape[Column]> };

/** A prepared query whose rows have a known shape. */
export interface RowQuery<Row> {
  get(...parameters: SQLInputValue[]): Row | undefined;
  all(...parameters: SQLInputValue[]): Row[];
  iterate(...parameters: SQLInputValue[]): Iterable<Row>;
}

/**
 * Prepares a query whose rows are read as `shape` says: the one place where rows of `node:sqlite`, which are of
 * unknown type, are given one.
 *
 * The shape is taken on trust; the tests of each query hold it to its table. A statement could be asked for its
 * columns when it is prepared: while that was tried, processes of the tests ended by a segmentation fault now and
 * then.
 */
export function rowQuery<const Shape extends RowShape>(
  database: Pick<DatabaseSync, "prepare">,
  _shape: Shape,
  sql: string,
): RowQuery<RowOf<Shape>> {
  return database.prepare(sql) as unknown as RowQuery<RowOf<Shape>>;
}

/**
 * Prepares reading with several statements at one point in time: without that a delivery may be removed
 * between its row and its runs. What is read must be read before the query returns.
 */
export function snapshotReader(reader: DatabaseSync): <Result>(query: () => Result) => Result {
  const begin = reader.prepare("BEGIN");
  const end = reader.prepare("COMMIT");
  return (query) => {
    begin.run();
    try {
      return query();
    } finally {
      end.run();
    }
  };
}
