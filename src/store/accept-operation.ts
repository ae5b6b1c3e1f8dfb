import type { DatabaseSync } from "node:sqlite";
import type { ClaimOperations, Holder } from "./claim-operations.ts";
import type { MarkMemory } from "./mark-memory.ts";
import { storedMarks, unpackMarks } from "./packed-marks.ts";
import { QUEUED, RUNS_PER_DELIVERY } from "./sqlite-codes.ts";

/**
 * A delivery as it travels to the writer thread: flat, because cloning an array of scalars costs a
 * third of cloning the objects they came from.
 */
export type AcceptRow = readonly [
  seq: number,
  tag: string,
  receivedAt: number,
  route: string,
  mappingId: string | null,
  name: string,
  ended: number | null,
  reason: string | null,
  headers: string,
  query: string,
  body: Uint8Array,
  claimKey: Uint8Array | null,
  fingerprint: Uint8Array | null,
  expiresAt: number,
  /** See {@link packMarks}. */
  marks: string | null,
  /** Lane, kind, spec and text of each run, in order. */
  ...runs: (string | number | null)[],
];

const RUN_OFFSET = 15;
const RUN_FIELDS = 4;

/** The delivery that has the idempotency key or a mark; `undefined` when the new one was stored. */
export type AcceptResult = (Pick<Holder, "seq" | "tag" | "runs"> & { readonly sameRequest: boolean }) | undefined;

/** Prepares the insertion of a delivery with its runs, its claim and its marks. */
export function acceptOperation(
  database: DatabaseSync,
  claims: ClaimOperations,
  memory: MarkMemory,
): (row: AcceptRow) => AcceptResult {
  const insertDelivery = database.prepare(`
    INSERT INTO deliveries (seq, tag, received_at, route, mapping_id, name, ended, reason, runs, claim, fingerprint, marks)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertRun = database.prepare(`
    INSERT INTO runs (id, tag, lane, kind, state, steps) VALUES (?, ?, ?, ?, ${QUEUED}, 0)`);
  const insertContents = database.prepare(
    "INSERT INTO contents (id, spec, text, headers, query, body) VALUES (?, ?, ?, ?, ?, ?)",
  );

  return (row) => {
    const [seq, tag, receivedAt, route, mappingId, name, ended, reason, headers, query, body] = row;
    const fingerprint = row[12];
    const stored = storedMarks(row[14]);
    const marks = unpackMarks(stored);
    const marked = memory.claim(marks, { seq, receivedAt });
    if (marked !== undefined) return { seq: marked.seq, tag: marked.tag, runs: marked.runs, sameRequest: true };
    const count = (row.length - RUN_OFFSET) / RUN_FIELDS;
    const claim = row[11] === null ? null : claims.storedKey(row[11]);
    if (claim !== null) {
      const holder = claims.claim(claim, row[13], seq, receivedAt);
      if (holder !== undefined) {
        memory.release(marks, seq);
        return answerOf(holder, fingerprint!);
      }
    }
    insertDelivery.run(seq, tag, receivedAt, route, mappingId, name, ended, reason, count, claim, fingerprint, stored);
    const base = seq * RUNS_PER_DELIVERY;
    if (count === 0) insertContents.run(base, null, null, headers, query, body);
    for (let index = 0; index < count; index++) {
      const at = RUN_OFFSET + index * RUN_FIELDS;
      const spec = row[at + 2]!;
      const text = row[at + 3]!;
      insertRun.run(base + index, tag, row[at]!, row[at + 1]!);
      if (index === 0) insertContents.run(base, spec, text, headers, query, body);
      else insertContents.run(base + index, spec, text, null, null, null);
    }
    return undefined;
  };
}

function answerOf(holder: Holder, fingerprint: Uint8Array): AcceptResult {
  const { seq, tag, runs } = holder;
  return { seq, tag, runs, sameRequest: isSame(holder.fingerprint, fingerprint) };
}

function isSame(left: Uint8Array | null, right: Uint8Array): boolean {
  return left !== null && Buffer.compare(left, right) === 0;
}
