/** Reads single deliveries. */
import type { DeliveryDetail, DeliverySummary } from "../../../core/delivery.ts";
import type { DeliveryState, Replayable, ReplayableRun } from "../../delivery-store.ts";
import { ENDED_COALESCED, ENDED_DUPLICATE, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import { deliveryId, type DeliveryKey } from "../../sqlite/public-id.ts";
import {
  ATTEMPT_ROW,
  DELIVERY_ROW,
  deliveryColumns,
  deliveryState,
  deliverySummary,
  isoTime,
  RUN_COLUMNS,
  RUN_ROW,
} from "../../sqlite/readers/stored-rows.ts";
import {
  acceptedRunOf,
  coalescedRunOf,
  deliveryStateOf,
  joinedRun,
  replayableOf,
  REQUEST_ROW,
  requestOf,
  runDetailOf,
} from "../../stored-values.ts";
import { type Session, statement } from "../engine/statement.ts";

const MAX_LISTED = 10;
const MAX_MEMBERS = 10_000;

/** The runs, or what else has their ids, of the delivery `$1`. */
const ofDelivery = (id: string): string =>
  `${id} >= $1::bigint * ${RUNS_PER_DELIVERY} AND ${id} < ($1::bigint + 1) * ${RUNS_PER_DELIVERY}`;

const readDelivery = statement(
  { ...DELIVERY_ROW, ...REQUEST_ROW },
  `SELECT ${deliveryColumns("d")}, headers, query, octet_length(body) AS bytes
  FROM reveille.deliveries AS d LEFT JOIN reveille.contents AS c ON c.id = seq * ${RUNS_PER_DELIVERY}
  WHERE seq = $1 AND tag = $2`,
);
const readRuns = statement(
  RUN_ROW,
  `SELECT ${RUN_COLUMNS} FROM reveille.runs JOIN reveille.contents ON contents.id = runs.id
  WHERE ${ofDelivery("runs.id")} ORDER BY runs.id`,
);
const readAttempts = statement(
  { ...ATTEMPT_ROW, run: "integer" },
  `SELECT * FROM reveille.attempts WHERE ${ofDelivery("run")} ORDER BY run, number`,
);
const readBody = statement(
  { body: "blob?" },
  `SELECT body FROM reveille.deliveries JOIN reveille.contents ON id = seq * ${RUNS_PER_DELIVERY} WHERE seq = $1 AND tag = $2`,
);
const readDuplicates = statement(
  { seq: "integer", tag: "text", received_at: "integer" },
  `SELECT seq, tag, received_at FROM reveille.deliveries
  WHERE related = $1 AND related_tag = $2 AND ended = ${ENDED_DUPLICATE} ORDER BY seq DESC LIMIT ${MAX_LISTED}`,
);
const readEnded = statement(
  { ended: "integer?" },
  "SELECT ended FROM reveille.deliveries WHERE seq = $1 AND tag = $2 AND credential = $3",
);
const readStates = statement(
  { id: "integer", state: "integer", lane: "text" },
  `SELECT id, state, lane FROM reveille.runs WHERE ${ofDelivery("id")} ORDER BY id`,
);

export async function delivery(session: Session, { seq, tag }: DeliveryKey): Promise<DeliveryDetail | undefined> {
  const row = await session.first(readDelivery, seq, tag);
  if (row === undefined) return undefined;
  const runs = await session.rows(readRuns, seq);
  const attempts = Map.groupBy(await session.rows(readAttempts, seq), ({ run }) => run);
  return {
    ...deliverySummary(row, runs),
    ...requestOf(row),
    runs: runs.map((run) => runDetailOf(run, tag, attempts.get(run.id) ?? [])),
  };
}

export async function body(session: Session, { seq, tag }: DeliveryKey): Promise<Uint8Array | undefined> {
  return plainBytes((await session.first(readBody, seq, tag))?.body) ?? undefined;
}

/** The client gives views of what it has received as a `Buffer`. */
function plainBytes(bytes: Uint8Array | null | undefined): Uint8Array | null {
  return bytes == null ? null : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export async function duplicatesOf(
  session: Session,
  { seq, tag }: DeliveryKey,
): Promise<Pick<DeliverySummary, "id" | "receivedAt">[]> {
  const rows = await session.rows(readDuplicates, seq, tag);
  return rows.map((row) => ({ id: deliveryId(row.seq, row.tag), receivedAt: isoTime(row.received_at) }));
}

/** `undefined` for a delivery that is not there and for one that came with another credential, alike. */
export async function stateFor(
  session: Session,
  { seq, tag }: DeliveryKey,
  credentialId: string,
): Promise<DeliveryState | undefined> {
  const row = await session.first(readEnded, seq, tag, credentialId);
  if (row === undefined) return undefined;
  return deliveryStateOf({ seq, tag }, row.ended, await session.rows(readStates, seq));
}

const readReplayed = statement(
  { ...DELIVERY_ROW, spec: "text?", text: "text?", headers: "text?", query: "text?", body: "blob?" },
  `SELECT ${deliveryColumns("d")}, spec, text, headers, query, body
  FROM reveille.deliveries AS d LEFT JOIN reveille.contents AS c ON c.id = seq * ${RUNS_PER_DELIVERY}
  WHERE seq = $1 AND tag = $2`,
);
const readJoined = statement({ lane: "text", state: "integer" }, "SELECT lane, state FROM reveille.runs WHERE id = $1");
const readMembers = statement(
  { seq: "integer", tag: "text" },
  `SELECT seq, tag FROM reveille.deliveries WHERE related = $1 AND ended = ${ENDED_COALESCED} ORDER BY seq LIMIT ${MAX_MEMBERS}`,
);
const readTag = statement({ tag: "text" }, "SELECT tag FROM reveille.deliveries WHERE seq = $1");
const readReplays = statement(
  { seq: "integer", tag: "text", ended: "integer?" },
  `SELECT seq, tag, ended FROM reveille.deliveries WHERE replayed = $1 AND (related <> $1 OR related_tag = $2)
  ORDER BY seq DESC LIMIT ${MAX_LISTED}`,
);

export async function replayable(session: Session, { seq, tag }: DeliveryKey): Promise<Replayable | undefined> {
  const row = await session.first(readReplayed, seq, tag);
  if (row === undefined) return undefined;
  const members = await session.rows(readMembers, seq);
  const runs =
    row.ended === ENDED_COALESCED ? await coalescedRun(session, row) : await acceptedRuns(session, { seq, tag });
  return replayableOf({ ...row, body: plainBytes(row.body) }, { runs, members });
}

async function acceptedRuns(session: Session, { seq, tag }: DeliveryKey): Promise<ReplayableRun[]> {
  return (await session.rows(readRuns, seq)).map((run) => acceptedRunOf(run, tag));
}

async function coalescedRun(session: Session, row: Parameters<typeof coalescedRunOf>[0]): Promise<ReplayableRun[]> {
  return coalescedRunOf(row, await session.first(readJoined, joinedRun(row)));
}

/** The latest ones first; also of a delivery that was removed. */
export async function replaysOf(
  session: Session,
  { seq, tag }: DeliveryKey,
): Promise<Pick<DeliverySummary, "id" | "state">[]> {
  // Where it is gone its replays have its tag, unless they belong to something else now.
  const stored = await session.first(readTag, seq);
  if (stored !== undefined && stored.tag !== tag) return [];
  const replays: Pick<DeliverySummary, "id" | "state">[] = [];
  for (const replay of await session.rows(readReplays, seq, tag)) {
    const states = await session.rows(readStates, replay.seq);
    replays.push({ id: deliveryId(replay.seq, replay.tag), state: deliveryState(replay.ended, states) });
  }
  return replays;
}
