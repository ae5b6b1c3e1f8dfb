/** The tables of the store with the operations of retention, on a connection of the test's own thread. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { migrate } from "../../../../../src/storage/sqlite/engine/migrate.ts";
import { openWriteConnection } from "../../../../../src/storage/sqlite/engine/open-connection.ts";
import { claimOperations } from "../../../../../src/storage/sqlite/operations/claims.ts";
import { replayKeyMemory } from "../../../../../src/storage/sqlite/operations/replay-key-memory.ts";
import { packReplayKeys, storedReplayKeys } from "../../../../../src/storage/sqlite/replay-keys.ts";
import { retentionOperations } from "../../../../../src/storage/sqlite/operations/retention.ts";
import { RUNS_PER_DELIVERY } from "../../../../../src/storage/sqlite/codes.ts";
import { storeMigrations } from "../../../../../src/storage/sqlite/migrations.ts";
import { temporaryFolder } from "../engine/temporary-folder.ts";

const TAG = "0123456789abcdef";

export interface RowToRetain {
  readonly receivedAt?: number;
  /** State codes of its runs. */
  readonly runs?: readonly number[];
  readonly ended?: number;
  readonly related?: number;
  /** When its claim and its mark lapse. */
  readonly claimUntil?: number;
  readonly markUntil?: number;
  readonly body?: Uint8Array | null;
  readonly text?: string | null;
  readonly spec?: string;
  /** What it counts for; `null` as in a file of an older version. */
  readonly bytes?: number | null;
  readonly mappingId?: string;
  readonly name?: string;
  readonly reason?: string;
}

export interface Limits {
  readonly now?: number;
  readonly removeBefore?: number;
  readonly emptyBefore?: number;
  readonly maxBytes?: number | null;
  readonly most?: number;
}

export async function openRetentionTables() {
  const database = openWriteConnection(join(temporaryFolder(), "store.sqlite"));
  onTestFinished(() => database.close());
  migrate(database, { name: "store", migrations: storeMigrations });
  const claims = claimOperations(database);
  const memory = replayKeyMemory(database, claims);
  let operations = retentionOperations(database, memory);
  const insertDelivery = database.prepare(`
    INSERT INTO deliveries
      (seq, tag, received_at, route, runs, ended, related, claim, marks, bytes, mapping_id, name, reason)
    VALUES (?, '${TAG}', ?, 'agent', ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertRun = database.prepare(
    `INSERT INTO runs (id, tag, lane, kind, state, steps) VALUES (?, '${TAG}', 'a', 0, ?, 0)`,
  );
  const insertContents = database.prepare(
    "INSERT INTO contents (id, spec, text, headers, query, body) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const insertAttempt = database.prepare(
    "INSERT INTO attempts (run, number, started_at, status, reply) VALUES (?, 1, 0, 'ok', 'The reply.')",
  );
  let seq = 0;

  const insert = (row: RowToRetain) => {
    seq++;
    const { receivedAt = 0, runs = [], claimUntil, markUntil, body = Buffer.from("{}"), text = "Look." } = row;
    const claim = claimUntil === undefined ? null : randomBytes(16);
    const marks = markUntil === undefined ? undefined : [{ key: randomBytes(32), expiresAt: markUntil }];
    const related = row.related ?? null;
    const { bytes = 500 * (1 + runs.length) + (body?.byteLength ?? 0), mappingId = null, name = "Hook" } = row;
    const held = [claim, storedReplayKeys(packReplayKeys(marks))] as const;
    const shown = [bytes, mappingId, name, row.reason ?? null] as const;
    insertDelivery.run(seq, receivedAt, runs.length, row.ended ?? null, related, ...held, ...shown);
    if (claim !== null) claims.claim(claim, claimUntil!, seq, receivedAt);
    const spec = row.spec ?? '{"kind":"wake"}';
    for (const [index, state] of runs.entries()) {
      const id = seq * RUNS_PER_DELIVERY + index;
      insertRun.run(id, state);
      insertAttempt.run(id);
      if (index > 0) insertContents.run(id, spec, text, null, null, null);
    }
    const first = runs.length === 0 ? [null, null] : [spec, text];
    insertContents.run(seq * RUNS_PER_DELIVERY, ...(first as [null, null]), '{"a":"b"}', '{"c":"d"}', body);
    return seq;
  };
  const inTransaction = <Result>(act: () => Result, end: "COMMIT" | "ROLLBACK" = "COMMIT"): Result => {
    database.exec("BEGIN IMMEDIATE");
    const result = act();
    database.exec(end);
    return result;
  };
  const prune = (limits: Limits, end?: "COMMIT" | "ROLLBACK") => {
    const { now = 1e15, removeBefore = -1e15, emptyBefore = -1e15, maxBytes = null, most } = limits;
    return inTransaction(() => operations.prune([now, removeBefore, emptyBefore, maxBytes, most]), end);
  };
  const column = (text: string) =>
    database
      .prepare(text)
      .all()
      .map((row) => Number(Object.values(row)[0]));

  return {
    database,
    /** Stores deliveries in one commit; gives the seq of the last. */
    insert: (...rows: readonly RowToRetain[]) => inTransaction(() => rows.map(insert).at(-1)!),
    settle: (of: number, state: number) =>
      database.exec(`UPDATE runs SET state = ${state} WHERE id / ${RUNS_PER_DELIVERY} = ${of}`),
    prune,
    /** Steps until there is no more to do; what was removed and emptied in all. */
    pruneAll: (limits: Limits) => {
      const total = { removed: 0, emptied: 0, steps: 0 };
      for (let more = 1; more === 1; total.steps++) {
        const step = prune(limits);
        total.removed += step[0];
        total.emptied += step[1];
        more = step[2];
        if (total.steps > 100_000) throw new Error("There is no end to it.");
      }
      return total;
    },
    remove: (now: number, ...seqs: readonly number[]) =>
      inTransaction(() => operations.remove([now, ...seqs.flatMap((one) => [one, TAG])])),
    removeTagged: (...args: [number, ...(number | string)[]]) => inTransaction(() => operations.remove(args)),
    /** As after a restart: what was remembered in memory is gone. */
    restart: () => {
      operations = retentionOperations(database, memory);
    },
    listed: () => column("SELECT seq FROM deliveries ORDER BY seq"),
    /** Deliveries whose request is kept. */
    filled: () => column(`SELECT id / ${RUNS_PER_DELIVERY} FROM contents WHERE body IS NOT NULL ORDER BY id`),
    count: (table: string) => column(`SELECT count(*) FROM ${table}`)[0],
    /** What all deliveries count for, as it stands, and as it is when they are added up. */
    counted: () => column("SELECT bytes FROM counted_bytes")[0]!,
    addedUp: (through: "all" | "counted" = "all") => {
      const bound = through === "all" ? "" : "WHERE seq <= (SELECT through_seq FROM counted_bytes)";
      return column(`SELECT coalesce(sum(bytes), 0) FROM deliveries ${bound}`)[0]!;
    },
  };
}
