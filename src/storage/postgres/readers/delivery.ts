/** Reads single deliveries. */
import type { DeliveryDetail, DeliverySummary } from "../../../core/delivery.ts";
import type { RunDetail } from "../../../core/run.ts";
import type { DeliveryState, Replayable, ReplayableRun } from "../../delivery-store.ts";
import {
  chainOfText,
  ENDED_COALESCED,
  ENDED_DUPLICATE,
  levelOf,
  RUNS_PER_DELIVERY,
  runStateOf,
  SKIPPED,
} from "../../sqlite/codes.ts";
import type { RowOf, RowShape } from "../../sqlite/engine/row-query.ts";
import { deliveryId, type DeliveryKey, runId } from "../../sqlite/public-id.ts";
import {
  ATTEMPT_ROW,
  attemptOf,
  DELIVERY_ROW,
  deliveryColumns,
  deliveryState,
  deliverySummary,
  dictionaryOf,
  dueAtOf,
  isoTime,
  replyOf,
  replyOutcomeOfRun,
  RUN_COLUMNS,
  RUN_ROW,
  type RunRow,
  stepTimesOf,
} from "../../sqlite/readers/stored-rows.ts";
import { restoreSpec } from "../../sqlite/stored-spec.ts";
import { type Session, statement } from "../engine/statement.ts";

const MAX_LISTED = 10;
const MAX_MEMBERS = 10_000;
const KEPT_REPLY_CHARS = 2000;

/** The runs, or what else has their ids, of the delivery `$1`. */
const ofDelivery = (id: string): string =>
  `${id} >= $1::bigint * ${RUNS_PER_DELIVERY} AND ${id} < ($1::bigint + 1) * ${RUNS_PER_DELIVERY}`;

const REQUEST = { headers: "text?", query: "text?", bytes: "integer?" } as const satisfies RowShape;
const readDelivery = statement(
  { ...DELIVERY_ROW, ...REQUEST },
  `SELECT ${deliveryColumns("d")}, headers, query, octet_length(body) AS bytes
  FROM reveille.deliveries AS d LEFT JOIN reveille.contents AS c ON c.id = seq * ${RUNS_PER_DELIVERY}
  WHERE seq = $1 AND tag = $2`,
);
const readRuns = statement(
  RUN_ROW,
  `SELECT ${RUN_COLUMNS} FROM reveille.runs JOIN reveille.contents ON contents.id = runs.id
  WHERE ${ofDelivery("runs.id")} ORDER BY runs.id`,
);
const ATTEMPT_OF_RUN = { ...ATTEMPT_ROW, run: "integer" } as const satisfies RowShape;
const readAttempts = statement(
  ATTEMPT_OF_RUN,
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
    headers: dictionaryOf(row.headers),
    query: dictionaryOf(row.query),
    bodyBytes: row.bytes ?? 0,
    runs: runs.map((run) => runDetail(run, tag, attempts.get(run.id) ?? [])),
  };
}

function runDetail(row: RunRow, tag: string, attempts: readonly RowOf<typeof ATTEMPT_OF_RUN>[]): RunDetail {
  const spec = restoreSpec({ text: row.text, json: row.spec });
  const dueAt = dueAtOf(row);
  return {
    id: runId(row.id, tag),
    state: runStateOf(row.state),
    reason: row.reason,
    spec,
    attempts: attempts.map(attemptOf),
    reply: cutText(replyOf(attempts), KEPT_REPLY_CHARS),
    delivery: replyOutcomeOfRun(row, spec),
    dueAt: dueAt === null ? null : isoTime(dueAt),
    calls: row.calls ?? 1,
    steps: stepTimesOf(row),
    settledAt: row.settled_at === null ? null : isoTime(row.settled_at),
  };
}

/** Never leaves half of a surrogate pair. */
function cutText(text: string | null, maxChars: number): string | null {
  if (text === null || text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
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
  const runs = await session.rows(readStates, seq);
  return {
    deliveryId: deliveryId(seq, tag),
    state: deliveryState(row.ended, runs),
    runs: runs.map(({ id, state }) => ({ runId: runId(id, tag), state: runStateOf(state) })),
  };
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
  return {
    route: row.route,
    mappingId: row.mapping_id,
    name: row.name,
    receivedAt: row.received_at,
    event: row.event,
    actor: row.sender,
    level: levelOf(row.level),
    ...chainOfText(row.chain),
    headers: dictionaryOf(row.headers),
    query: dictionaryOf(row.query),
    body: plainBytes(row.body),
    runs: row.ended === ENDED_COALESCED ? await coalescedRun(session, row) : await acceptedRuns(session, { seq, tag }),
    members: members.map((member) => deliveryId(member.seq, member.tag)),
  };
}

async function acceptedRuns(session: Session, { seq, tag }: DeliveryKey): Promise<ReplayableRun[]> {
  return (await session.rows(readRuns, seq)).map(({ id, state, lane, spec, text }) => ({
    runId: runId(id, tag),
    state: runStateOf(state),
    lane,
    spec: restoreSpec({ json: spec, text }),
  }));
}

/** It would have been in the lane of the run that it became a part of, since the key names the session too. */
async function coalescedRun(
  session: Session,
  row: { related: number | null; related_tag: string | null; spec: string | null; text: string | null },
): Promise<ReplayableRun[]> {
  if (row.spec === null) return [];
  const spec = restoreSpec({ json: row.spec, text: row.text });
  const id = Number(row.related) * RUNS_PER_DELIVERY;
  const { lane, state } = (await session.first(readJoined, id)) ?? { lane: spec.sessionKey, state: SKIPPED };
  return [{ runId: runId(id, row.related_tag ?? ""), state: runStateOf(state), lane, spec }];
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
