/** Makes the values of the contract from rows that a store has read: the same for every store with these tables. */
import type { DeliveryDetail } from "../core/delivery.ts";
import type { RunDetail, RunSpec } from "../core/run.ts";
import type { StatsQuery, StatsRow } from "./delivery-stats.ts";
import {
  type Backlog,
  type CoalescedCalls,
  type DeliveryState,
  MAX_COALESCED_CHARS,
  MAX_COALESCED_TEXTS,
  type Replayable,
  type ReplayableRun,
  type StoredRun,
} from "./delivery-store.ts";
import type { OpenRun } from "./open-run.ts";
import { chainOfText, levelOf, RUNS_PER_DELIVERY, runStateOf, SKIPPED, WAKE } from "./sqlite/codes.ts";
import type { RowOf, RowShape } from "./sqlite/engine/row-query.ts";
import { deliveryId, type DeliveryKey, runId, type RunKey } from "./sqlite/public-id.ts";
import {
  attemptOf,
  type AttemptRow,
  type DeliveryRow,
  deliveryState,
  dictionaryOf,
  dueAtOf,
  isoTime,
  replyOf,
  replyOutcomeOfRun,
  type RunRow,
  stepsOf,
  stepTimesOf,
} from "./sqlite/readers/stored-rows.ts";
import { restoreSpec, textOf } from "./sqlite/stored-spec.ts";

/** Characters of a reply that are kept after the run is settled. */
export const KEPT_REPLY_CHARS = 2000;

export const OPEN_RUN_ROW = {
  id: "integer",
  tag: "text",
  lane: "text",
  kind: "integer",
  state: "integer",
  due_at: "integer?",
  expires_at: "integer?",
  mapping_id: "text?",
  steps: "integer",
  /** `null`: no attempt was made; 0: no host has begun one; 1: none ended well; 2: one did. */
  begun: "integer?",
} as const satisfies RowShape;
export type OpenRunRow = RowOf<typeof OPEN_RUN_ROW>;

export function openRunOf(row: OpenRunRow): OpenRun {
  return {
    runId: runId(row.id, row.tag),
    mappingId: row.mapping_id,
    lane: row.lane,
    kind: row.kind === WAKE ? "wake" : "agent",
    state: runStateOf(row.state) as OpenRun["state"],
    dueAt: dueAtOf(row),
    expiresAt: row.begun === null || row.begun === 0 ? row.expires_at : null,
    begun: row.begun !== null,
    // Nothing follows a run before its summary, also when the agent has failed permanently.
    replied: row.begun === 2 || (row.begun !== null && stepsOf(row.steps).includes("summarized")),
  };
}

/** The open runs of one state. */
export const BACKLOG_ROW = { state: "integer", runs: "integer", oldest_at: "integer?" } as const satisfies RowShape;

export function backlogOf(rows: readonly RowOf<typeof BACKLOG_ROW>[]): Backlog {
  const byState = new Map(rows.map((row) => [runStateOf(row.state), row]));
  const count = (state: OpenRun["state"]): number => byState.get(state)?.runs ?? 0;
  return {
    queued: count("queued"),
    running: count("running"),
    held: count("held"),
    oldestQueuedAt: byState.get("queued")?.oldest_at ?? null,
  };
}

export function storedRunOf(
  row: RunRow,
  key: RunKey,
  { attempts, calls }: { readonly attempts: readonly AttemptRow[]; readonly calls: Iterable<CallRow> },
): StoredRun {
  const spec = restoreSpec({ text: row.text, json: row.spec });
  const isCoalesced = row.calls !== null && row.calls > 1;
  return {
    runId: runId(row.id, key.tag),
    deliveryId: deliveryId(key.seq, key.tag),
    lane: row.lane,
    state: runStateOf(row.state),
    spec,
    attempts: attempts.map(attemptOf),
    reply: replyOf(attempts),
    steps: stepsOf(row.steps),
    replyOutcome: replyOutcomeOfRun(row, spec),
    ...(isCoalesced && { coalesced: coalescedCalls(calls, spec, row.calls) }),
  };
}

/** A call that was coalesced into a run. */
export const CALL_ROW = { spec: "text", text: "text?" } as const satisfies RowShape;
type CallRow = RowOf<typeof CALL_ROW>;

/** The latest calls first, as many as there is room for: no more of them is read. */
function coalescedCalls(calls: Iterable<CallRow>, own: RunSpec, count: number): CoalescedCalls {
  let latest = own;
  const texts: string[] = [];
  let room = MAX_COALESCED_CHARS;
  /** False when there is no room for it, and so for none before it. */
  const add = (text: string): boolean => {
    room -= text.length;
    if (texts.length > 0 && room < 0) return false;
    texts.push(text);
    return texts.length < MAX_COALESCED_TEXTS;
  };
  let isRoom = true;
  for (const { spec: json, text } of calls) {
    const spec = texts.length === 0 || text === null ? restoreSpec({ json, text }) : undefined;
    if (texts.length === 0) latest = spec!;
    isRoom = add(text ?? textOf(spec!));
    if (!isRoom) break;
  }
  if (isRoom) add(textOf(own));
  return { count, latest, texts: texts.toReversed() };
}

/** What a delivery has beside its row and its runs. */
export const REQUEST_ROW = { headers: "text?", query: "text?", bytes: "integer?" } as const satisfies RowShape;

export function requestOf(
  row: RowOf<typeof REQUEST_ROW> | undefined,
): Pick<DeliveryDetail, "headers" | "query" | "bodyBytes"> {
  return { headers: dictionaryOf(row?.headers), query: dictionaryOf(row?.query), bodyBytes: row?.bytes ?? 0 };
}

export function runDetailOf(row: RunRow, tag: string, attempts: readonly AttemptRow[]): RunDetail {
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

export function deliveryStateOf(
  { seq, tag }: DeliveryKey,
  ended: number | null,
  runs: readonly { readonly id: number; readonly state: number }[],
): DeliveryState {
  return {
    deliveryId: deliveryId(seq, tag),
    state: deliveryState(ended, runs),
    runs: runs.map(({ id, state }) => ({ runId: runId(id, tag), state: runStateOf(state) })),
  };
}

type ReplayedRow = DeliveryRow & {
  readonly headers: string | null;
  readonly query: string | null;
  readonly body: Uint8Array | null;
};

export function replayableOf(
  row: ReplayedRow,
  { runs, members }: { readonly runs: readonly ReplayableRun[]; readonly members: readonly DeliveryKey[] },
): Replayable {
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
    body: row.body,
    runs,
    members: members.map(({ seq, tag }) => deliveryId(seq, tag)),
  };
}

/** A run of a delivery as it was accepted. */
export function acceptedRunOf(
  { id, state, lane, spec, text }: Pick<RunRow, "id" | "state" | "lane" | "spec" | "text">,
  tag: string,
): ReplayableRun {
  return { runId: runId(id, tag), state: runStateOf(state), lane, spec: restoreSpec({ json: spec, text }) };
}

/** The key of the run that a coalesced delivery became a part of. */
export function joinedRun({ related }: Pick<DeliveryRow, "related">): number {
  return Number(related) * RUNS_PER_DELIVERY;
}

/**
 * The run that a coalesced delivery would have had; `joined` is the one that it became a part of. It would have been in
 * the lane of that one, since the key names the session too.
 */
export function coalescedRunOf(
  row: Pick<DeliveryRow, "related" | "related_tag"> & { readonly spec: string | null; readonly text: string | null },
  joined: Pick<RunRow, "lane" | "state"> | undefined,
): ReplayableRun[] {
  if (row.spec === null) return [];
  const spec = restoreSpec({ json: row.spec, text: row.text });
  const { lane, state } = joined ?? { lane: spec.sessionKey, state: SKIPPED };
  return [{ runId: runId(joinedRun(row), row.related_tag ?? ""), state: runStateOf(state), lane, spec }];
}

/** Deliveries that are counted together. */
export const STATS_ROW = {
  bucket: "integer",
  name: "text",
  ended: "integer?",
  state: "integer?",
  deliveries: "integer",
  runs: "integer",
  bytes: "integer",
  tokens: "real",
  cost: "real",
} as const satisfies RowShape;

export function statsRowOf(
  { bucket, name, ended, state, cost, ...counts }: RowOf<typeof STATS_ROW>,
  { bucketMs }: StatsQuery,
): StatsRow {
  const kind = deliveryState(ended, state === null ? [] : [{ state }]);
  return { at: bucket * bucketMs, name, state: kind, ...counts, costUsd: cost };
}
