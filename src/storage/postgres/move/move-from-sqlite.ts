import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Client } from "pg";
import { StoreError } from "../../delivery-store.ts";
import { rowQuery } from "../../sqlite/engine/row-query.ts";
import { readReplayKeys } from "../../sqlite/replay-keys.ts";
import { restoreSpec } from "../../sqlite/stored-spec.ts";
import { checkServer } from "../engine/check-server.ts";
import { connect } from "../engine/connect.ts";
import { asStoreError } from "../engine/errors.ts";
import { lockForTransaction } from "../engine/owner-connection.ts";
import { command, Session, type Statement, statement } from "../engine/statement.ts";
import { columnsOf } from "../operations/insert.ts";
import { CLAIM_GRACE_MS } from "../operations/new-delivery-row.ts";
import type { MovedTable } from "./tables.ts";

/** Rows, and bytes of them, that travel at a time. */
const MAX_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

type Cell = string | number | Uint8Array | null;
/** Rows by table. */
export type RowCounts = Readonly<Record<string, number>>;

export interface MoveOptions {
  /** The file of a gateway that does not run; nothing is written to it. */
  readonly from: DatabaseSync;
  /** What is copied row by row. */
  readonly tables: readonly MovedTable[];
  readonly url: string;
  readonly now: number;
  readonly onProgress: (moved: { readonly table: string; readonly done: number; readonly total: number }) => void;
  readonly signal: AbortSignal;
}

export interface Moved {
  readonly counts: RowCounts;
  /** False: an earlier move has done it, and no gateway has used the database since. */
  readonly isNew: boolean;
}

/**
 * Copies the deliveries and the host's own state to empty tables in PostgreSQL, in one transaction, and compares the counts before
 * it is committed. Rejects with a {@link StoreError}, and then nothing of it is there.
 */
export async function moveFromSqlite(options: MoveOptions): Promise<Moved> {
  const client = await connect(options.url, { purpose: "move" });
  try {
    return await moveOver(client, options);
  } catch (error) {
    throw asStoreError(error);
  } finally {
    await client.end();
  }
}

async function moveOver(client: Client, options: MoveOptions): Promise<Moved> {
  const session = new Session(client);
  await checkServer(session, client);
  await session.script("BEGIN");
  if (!(await lockForTransaction(session))) {
    throw new StoreError("UNAVAILABLE", "A gateway uses the database of hooks.store; stop it first.");
  }
  const counts = countsOf(options);
  const present = await countsIn(session, options);
  if (Object.values(present).some((count) => count > 0)) {
    if (areEqual(counts, present) && (await hasSameLast(session, options.from))) return { counts, isNew: false };
    throw new StoreError(
      "UNAVAILABLE",
      "The database of hooks.store has deliveries or sessions already: move to an empty one.",
    );
  }
  await copyAll(session, counts, options);
  const copied = await countsIn(session, options);
  if (!areEqual(counts, copied)) {
    const pairs = Object.entries(counts).map(([table, count]) => `${table}: ${copied[table]} of ${count}`);
    throw new StoreError("UNAVAILABLE", `The counts do not match (${pairs.join(", ")}); nothing was moved.`);
  }
  await session.script("COMMIT");
  await session.script("ANALYZE");
  return { counts, isNew: true };
}

async function copyAll(
  session: Session,
  counts: RowCounts,
  { from, tables, onProgress, signal, now }: MoveOptions,
): Promise<void> {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  let before = 0;
  for (const table of tables) {
    const insert = insertOf(table);
    let done = 0;
    for (const rows of batches(cellsOf(from, table))) {
      signal.throwIfAborted();
      await session.run(insert, ...columnsOf(rows));
      done += rows.length;
      onProgress({ table: table.name, done: before + done, total });
    }
    before += done;
    if (table.numbers !== undefined && done > 0) await session.rows(goOnAfter(table.name, table.numbers));
  }
  for (const keys of batches(keysOf(from, now - CLAIM_GRACE_MS))) {
    signal.throwIfAborted();
    // The later one of two has it.
    const unique = [...new Map(keys.map((row) => [String(row[0]), row])).values()];
    await session.run(putKeys, ...columnsOf(unique));
  }
  const last = lastOf(from);
  if (last !== undefined) await session.rows(setSeq, last.seq);
  const counted = rowQuery(from, COUNTED, "SELECT through_seq, bytes FROM counted_bytes").get();
  if (counted !== undefined) await session.run(putCounted, counted.through_seq, counted.bytes);
}

const COUNTED = { through_seq: "integer", bytes: "integer" } as const;
const putCounted = command("UPDATE reveille.counted_bytes SET through_seq = $1, bytes = $2");
const setSeq = statement({ seq: "integer" }, "SELECT setval('reveille.delivery_seq', $1::bigint) AS seq");
const putKeys = command(`
  INSERT INTO reveille.claims (key, expires_at, seq)
  SELECT decode(key, 'hex'), expires_at, seq FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS k (key, expires_at, seq)
  ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at, seq = excluded.seq`);

/** Numbers go on after the last one. */
function goOnAfter(name: string, column: string): Statement<unknown> {
  return statement(
    {},
    `SELECT setval(pg_get_serial_sequence('reveille.${name}', '${column}'), max(${column})) FROM reveille.${name}`,
  );
}

function insertOf({ name, types }: MovedTable): Statement<never> {
  const arrays = Object.values(types).map((type, index) => `$${index + 1}::${type}[]`);
  return command(
    `INSERT INTO reveille.${name} (${Object.keys(types).join(", ")}) SELECT * FROM unnest(${arrays.join(", ")})`,
  );
}

function* cellsOf(from: DatabaseSync, { name, types, rows }: MovedTable): Generator<readonly Cell[]> {
  for (const row of from.prepare(rows).iterate()) {
    const stored = name === "contents" ? storable(row) : row;
    yield Object.keys(types).map((column) => cellOf(stored[column] ?? null));
  }
}

function cellOf(value: SQLOutputValue): Cell {
  return typeof value === "bigint" ? Number(value) : value;
}

/** PostgreSQL has no text with U+0000: the message of an agent keeps it within the JSON, which escapes it. */
function storable(row: Record<string, SQLOutputValue>): Record<string, SQLOutputValue> {
  const { text, spec } = row;
  if (typeof text !== "string" || typeof spec !== "string" || !text.includes("\0")) return row;
  return { ...row, text: null, spec: JSON.stringify(restoreSpec({ text, json: spec })) };
}

/** Idempotency keys, then replay keys in order of acceptance: hexadecimal digits, time of expiry, delivery. */
function* keysOf(from: DatabaseSync, since: number): Generator<readonly Cell[]> {
  const claims = rowQuery(
    from,
    { key: "text", expires_at: "integer", seq: "integer" },
    "SELECT lower(hex(key)) AS key, expires_at, seq FROM claims WHERE expires_at > ?",
  );
  for (const { key, expires_at: expiresAt, seq } of claims.iterate(since)) yield [key, expiresAt, seq];
  for (const { seq, replayKeys } of readReplayKeys(from, Number.MAX_SAFE_INTEGER)) {
    for (const { key, expiresAt } of replayKeys) {
      if (expiresAt > since) yield [Buffer.from(key, "latin1").toString("hex"), expiresAt, seq];
    }
  }
}

function* batches(rows: Iterable<readonly Cell[]>): Generator<readonly (readonly Cell[])[]> {
  let batch: (readonly Cell[])[] = [];
  let bytes = 0;
  for (const row of rows) {
    batch.push(row);
    bytes += row.reduce<number>((sum, cell) => sum + (cell === null || typeof cell === "number" ? 8 : cell.length), 0);
    if (batch.length < MAX_ROWS && bytes < MAX_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function countsOf({ from, tables }: MoveOptions): RowCounts {
  return Object.fromEntries(
    tables.map(({ name, rows }) => [
      name,
      rowQuery(from, { count: "integer" }, `SELECT count(*) AS count FROM (${rows})`).get()!.count,
    ]),
  );
}

async function countsIn(session: Session, { tables }: MoveOptions): Promise<RowCounts> {
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS count FROM reveille.${name}`);
  const countAll = statement({ name: "text", count: "integer" }, counts.join(" UNION ALL "));
  return Object.fromEntries((await session.rows(countAll)).map(({ name, count }) => [name, count]));
}

function areEqual(counts: RowCounts, others: RowCounts): boolean {
  return Object.entries(counts).every(([table, count]) => others[table] === count);
}

const LAST = { seq: "integer", tag: "text" } as const;

function lastOf(from: DatabaseSync) {
  return rowQuery(from, LAST, "SELECT seq, tag FROM deliveries ORDER BY seq DESC LIMIT 1").get();
}

const readLast = statement(LAST, "SELECT seq, tag FROM reveille.deliveries ORDER BY seq DESC LIMIT 1");

async function hasSameLast(session: Session, from: DatabaseSync): Promise<boolean> {
  const [here, there] = [await session.first(readLast), lastOf(from)];
  return here?.seq === there?.seq && here?.tag === there?.tag;
}
