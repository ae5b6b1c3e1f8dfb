import type { ClientBase } from "pg";
import type { RowOf, RowShape } from "../../sqlite/engine/row-query.ts";

/** A value that travels to the server. */
export type SqlValue = string | number | boolean | Uint8Array | null | readonly (string | number | Uint8Array | null)[];

/** A statement that the server prepares once for each connection. */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Rows have this shape; never set. */
  readonly row?: Row;
}

let statements = 0;

/** A statement whose rows are read as `shape` says: its columns by name. The tests of each query hold it to its tables. */
export function statement<const Shape extends RowShape>(_shape: Shape, text: string): Statement<RowOf<Shape>> {
  return { name: `reveille_${++statements}`, text };
}

/** A statement that returns no rows. */
export function command(text: string): Statement<never> {
  return { name: `reveille_${++statements}`, text };
}

/** Carries out statements on one connection, one after the other. */
export class Session {
  readonly #client: ClientBase;

  constructor(client: ClientBase) {
    this.#client = client;
  }

  async rows<Row>({ name, text }: Statement<Row>, ...values: readonly SqlValue[]): Promise<Row[]> {
    const { rows } = await this.#client.query<Row & object>({ name, text, values: values.map(parameterOf) });
    return rows;
  }

  async first<Row>(statement: Statement<Row>, ...values: readonly SqlValue[]): Promise<Row | undefined> {
    const [row] = await this.rows(statement, ...values);
    return row;
  }

  /** The number of rows that it changed. */
  async run({ name, text }: Statement<never>, ...values: readonly SqlValue[]): Promise<number> {
    const { rowCount } = await this.#client.query({ name, text, values: values.map(parameterOf) });
    return rowCount ?? 0;
  }

  /** Several statements without values, in one message. */
  async script(text: string): Promise<void> {
    await this.#client.query(text);
  }
}

/** PostgreSQL has no text with the character U+0000. */
function storableText<Text extends string | null>(text: Text): Text {
  return (text?.includes("\0") === true ? text.replaceAll("\0", "\ufffd") : text) as Text;
}

function parameterOf(value: SqlValue): unknown {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map(parameterOf);
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}
