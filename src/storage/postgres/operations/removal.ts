/** Removing deliveries that are not open, and their requests. */
import { ENDED_COALESCED, ENDED_FAILED, ENDED_FILTERED, HELD, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import { columnsOf } from "./insert.ts";
import { emptyBytes } from "./new-delivery-row.ts";

const runsOf = (seq: string, id: string): string =>
  `${id} >= ${seq} * ${RUNS_PER_DELIVERY} AND ${id} < (${seq} + 1) * ${RUNS_PER_DELIVERY}`;
const openRunOf = (seq: string): string =>
  `EXISTS (SELECT 1 FROM reveille.runs AS r WHERE r.state >= ${HELD} AND ${runsOf(seq, "r.id")})`;

/** True of a delivery `d` with no open run, neither its own nor the one that its call was coalesced into. */
export const isClosed = `NOT ${openRunOf("d.seq")}
  AND NOT (d.ended IS NOT DISTINCT FROM ${ENDED_COALESCED} AND ${openRunOf("d.related")})`;

/** True of a delivery `d` whose request is kept. */
export const isFilled = `EXISTS (
  SELECT 1 FROM reveille.contents AS c WHERE c.id = d.seq * ${RUNS_PER_DELIVERY} AND c.body IS NOT NULL)`;

/** True of a delivery `d` of which no copy can arrive any more. */
export const isRemovable = (since: string): string =>
  `NOT EXISTS (SELECT 1 FROM reveille.claims AS k WHERE k.seq = d.seq AND k.expires_at > ${since})`;

const rangesOf = (table: string, id: string): string =>
  `DELETE FROM reveille.${table} AS t USING unnest($1::bigint[]) AS s (seq) WHERE ${runsOf("s.seq", `t.${id}`)}`;

const deletions = [
  command(rangesOf("attempts", "run")),
  command(rangesOf("contents", "id")),
  command(rangesOf("runs", "id")),
  command("DELETE FROM reveille.claims WHERE seq = ANY ($1::bigint[])"),
  command("DELETE FROM reveille.deliveries WHERE seq = ANY ($1::bigint[])"),
];

interface Removed {
  readonly seq: number;
  readonly runs: number;
}

/** Removes deliveries with all their rows. */
export async function removeDeliveries(session: Session, rows: readonly Removed[]): Promise<void> {
  if (rows.length === 0) return;
  for (const deletion of deletions) await session.run(deletion, seqsOf(rows));
}

const readSpecs = statement(
  { id: "integer", spec: "text", plain: "text" },
  `SELECT c.id, c.spec, coalesce(mapping_id, route) AS plain
  FROM unnest($1::bigint[]) AS s (seq) JOIN reveille.deliveries AS d ON d.seq = s.seq
  JOIN reveille.contents AS c ON ${runsOf("s.seq", "c.id")} WHERE c.spec IS NOT NULL`,
);
const writeSpecs = command(`
  UPDATE reveille.contents AS c SET spec = n.spec, text = '' FROM unnest($1::bigint[], $2::text[]) AS n (id, spec)
  WHERE c.id = n.id`);
const emptyRequests = command(`
  UPDATE reveille.contents AS c SET headers = '{}', query = '{}', body = NULL
  FROM unnest($1::bigint[]) AS s (seq) WHERE c.id = s.seq * ${RUNS_PER_DELIVERY}`);
const emptyAttempts = command(`
  UPDATE reveille.attempts AS a SET reply = CASE WHEN run = ANY ($2::bigint[]) THEN NULL ELSE reply END, activity = NULL
  FROM unnest($1::bigint[]) AS s (seq)
  WHERE ${runsOf("s.seq", "a.run")} AND (reply IS NOT NULL OR activity IS NOT NULL)`);
/** The clause of a filter before the first value, and the part of a failure before the words of a transform. */
const emptyRows = command(`
  UPDATE reveille.deliveries AS d SET name = coalesce(mapping_id, route), bytes = least(d.bytes, n.bytes),
    reason = CASE WHEN ended IN (${ENDED_FILTERED}, ${ENDED_FAILED})
      THEN split_part(split_part(reason, ':', 1), '"', 1) ELSE reason END
  FROM unnest($1::bigint[], $2::bigint[]) AS n (seq, bytes) WHERE d.seq = n.seq`);
const dropReplies = command(`
  UPDATE reveille.attempts AS a SET reply = NULL, activity = NULL
  FROM unnest($1::bigint[]) AS s (seq) WHERE ${runsOf("s.seq", "a.run")}`);

/**
 * Removes what the sender wrote: headers, query and body, and what derives from them, such as the texts of the runs, the
 * values in a filter's reason, replies that repeat the text, and the name. The rest of the specs and the agent's
 * replies stay.
 */
export async function emptyDeliveries(session: Session, rows: readonly Removed[]): Promise<void> {
  if (rows.length === 0) return;
  const seqs = seqsOf(rows);
  const specs = (await session.rows(readSpecs, seqs)).map(({ id, spec, plain }) => emptySpec(id, spec, plain));
  const repeating = specs.filter(({ isMessage }) => isMessage).map(({ id }) => id);
  await session.run(emptyAttempts, seqs, repeating);
  if (specs.length > 0) await session.run(writeSpecs, ...columnsOf(specs.map(({ id, json }) => [id, json])));
  await session.run(emptyRequests, seqs);
  await session.run(
    emptyRows,
    seqs,
    rows.map(({ runs }) => emptyBytes(runs)),
  );
}

/** Removes the agent's replies, which stay when a request is removed. */
export async function forgetReplies(session: Session, rows: readonly Removed[]): Promise<void> {
  if (rows.length > 0) await session.run(dropReplies, seqsOf(rows));
}

/** `isMessage`: the reply is the text itself. */
function emptySpec(id: number, stored: string, name: string) {
  const { text: _, message: __, ...rest } = JSON.parse(stored) as Readonly<Record<string, unknown>>;
  return { id, json: JSON.stringify({ ...rest, name }), isMessage: rest["mode"] === "deliver" };
}

function seqsOf(rows: readonly Removed[]): number[] {
  return rows.map(({ seq }) => seq);
}
