import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** What a query gives: its columns by name, in any order, each with what it holds; `?` where it may be `NULL`. */
export type RowShape = Readonly<Record<string, ColumnKind>>;

type ColumnKind = "integer" | "integer?" | "text" | "text?" | "blob" | "blob?";

interface Values {
  readonly integer: number;
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
 * Prepares a query whose rows have exactly the columns of `shape`.
 *
 * `node:sqlite` hands out rows of unknown type. Here the names of the columns are compared with the shape once,
 * when the query is prepared, and so is the type of each one that stands in a (`STRICT`) table; a row costs
 * nothing more. Taken on trust is what an expression gives, and that a column without `?` is never `NULL`.
 *
 * Throws an Error when they differ, which is a defect.
 */
export function rowQuery<const Shape extends RowShape>(
  database: Pick<DatabaseSync, "prepare">,
  shape: Shape,
  sql: string,
): RowQuery<RowOf<Shape>> {
  const statement = database.prepare(sql);
  const given = statement.columns().map(({ name, type }) => ({ name, type: type?.toLowerCase() ?? null }));
  const isDeclared = given.every(({ name, type }) => {
    const kind = Object.hasOwn(shape, name) ? shape[name] : undefined;
    return kind !== undefined && (type === null || type === kind.replace("?", ""));
  });
  if (!isDeclared || given.length !== Object.keys(shape).length || new Set(given.map(nameOf)).size !== given.length) {
    const found = given.map(({ name, type }) => `${name} ${type ?? "of any type"}`).join(", ");
    const wanted = Object.entries(shape).map(([name, kind]) => `${name} ${kind}`);
    throw new Error(`A query gives ${found || "no column"}, and not ${wanted.join(", ")}: ${sql.trim()}`);
  }
  // The only place where rows are given a type.
  return statement as unknown as RowQuery<RowOf<Shape>>;
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
