/** Turns rows into the objects of the contract. */
import type { DeliverySummary, Headers, RelatedDelivery } from "../../../core/delivery.ts";
import type { State, Attempt, ReplyOutcome, RunSpec } from "../../../core/run.ts";
import { RUN_STEPS, type RunStep, type StepTime } from "../../../core/run.ts";
import type { AgentActivity } from "../../../core/agent-rights.ts";
import type { TokenUsage } from "../../../core/token-usage.ts";
import {
  ENDED_COALESCED,
  ENDED_DUPLICATE,
  endedStateOf,
  HELD,
  QUEUED,
  replyOutcomeOfCode,
  runStateOf,
  STEP_COLUMNS,
  chainOfText,
  levelOf,
} from "../codes.ts";
import type { RowOf, RowShape } from "../engine/row-query.ts";
import { deliveryId, runIds } from "../public-id.ts";

export const RUN_ROW = {
  id: "integer",
  lane: "text",
  state: "integer",
  steps: "integer",
  outcome: "integer?",
  reason: "text?",
  spec: "text",
  text: "text?",
  due_at: "integer?",
  /** `null` for a run that never coalesced calls. */
  calls: "integer?",
  settled_at: "integer?",
  summarized_at: "integer?",
  delivered_at: "integer?",
  heartbeat_at: "integer?",
  called_back_at: "integer?",
  released_at: "integer?",
} as const satisfies RowShape;
export type RunRow = RowOf<typeof RUN_ROW>;

/** The columns of a {@link RunRow}, of `runs` with its `whole_contents`. */
export const RUN_COLUMNS = `runs.id, lane, state, steps, outcome, reason, spec, text, due_at, calls, settled_at,
  ${Object.values(STEP_COLUMNS).join(", ")}`;

/** A run in the queue that is due at once has not begun: a run that is put back gets a due time. */
export function mayHaveAttempts(row: Pick<RunRow, "state" | "due_at">): boolean {
  return row.state !== QUEUED || row.due_at !== null;
}

/** Milliseconds since the epoch; of no meaning once the run has left the queue. */
export function dueAtOf(row: Pick<RunRow, "state" | "due_at">): number | null {
  return row.state === QUEUED ? row.due_at : null;
}

export const ATTEMPT_ROW = {
  number: "integer",
  started_at: "integer",
  ended_at: "integer?",
  status: "text",
  error: "text?",
  reply: "text?",
  usage: "text?",
  activity: "text?",
} as const satisfies RowShape;
export type AttemptRow = RowOf<typeof ATTEMPT_ROW>;

export function attemptOf(row: AttemptRow): Attempt {
  return {
    number: row.number,
    startedAt: isoTime(row.started_at),
    endedAt: row.ended_at === null ? null : isoTime(row.ended_at),
    status: row.status as Attempt["status"],
    error: row.error,
    ...(row.usage === null ? {} : { usage: JSON.parse(row.usage) as TokenUsage }),
    ...(row.activity === null ? {} : { activity: JSON.parse(row.activity) as AgentActivity[] }),
  };
}

/** Of the latest attempt that ended well. */
export function replyOf(attempts: readonly AttemptRow[]): string | null {
  return attempts.findLast((attempt) => attempt.status === "ok")?.reply ?? null;
}

export function stepsOf(bits: number): RunStep[] {
  return RUN_STEPS.filter((_, index) => (bits & (1 << index)) !== 0);
}

export function stepTimesOf(row: RunRow): StepTime[] {
  const known = RUN_STEPS.flatMap((step) => {
    const at = row[STEP_COLUMNS[step]];
    return at === null ? [] : { step, at: isoTime(at) };
  });
  return known.toSorted((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

export function replyOutcomeOfRun(row: RunRow, spec: RunSpec): ReplyOutcome {
  return row.outcome === null ? expectedReplyOutcome(spec, row.state) : replyOutcomeOfCode(row.outcome);
}

/** Until something is recorded, a reply that has a target is pending while its run is open. */
export function expectedReplyOutcome(spec: RunSpec, state: number): ReplyOutcome {
  return spec.kind === "agent" && spec.delivery !== undefined && state >= HELD ? "pending" : "none";
}

/** Headers or a query, empty when they are not kept: names are the caller's, so the object has no prototype. */
export function dictionaryOf(json: string | null | undefined): Headers {
  const bare = Object.create(null) as Record<string, string>;
  return Object.assign(bare, JSON.parse(json ?? "{}") as Record<string, string>);
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The stored columns of a delivery that a list shows. */
export const DELIVERY_ROW = {
  seq: "integer",
  tag: "text",
  received_at: "integer",
  route: "text",
  mapping_id: "text?",
  name: "text",
  runs: "integer",
  ended: "integer?",
  reason: "text?",
  event: "text?",
  sender: "text?",
  related: "integer?",
  related_tag: "text?",
  resolved_at: "integer?",
  resolved_note: "text?",
  answered: "integer?",
  level: "integer?",
  chain: "text?",
} as const satisfies RowShape;
export type DeliveryRow = RowOf<typeof DELIVERY_ROW>;

/** The columns of a {@link DeliveryRow}; `table` is what the query calls `deliveries`. */
export function deliveryColumns(table: string): string {
  return Object.keys(DELIVERY_ROW)
    .map((column) => `${table}.${column}`)
    .join(", ");
}

/** The columns of a run that the list needs. */
export const LISTED_RUN = { state: "integer", reason: "text?", settled_at: "integer?" } as const satisfies RowShape;
type ListedRun = RowOf<typeof LISTED_RUN>;

/**
 * One delivery as it appears in a list. As long as it has a run that is not skipped its state is not
 * stored: it is the highest of its runs' (running, queued, held, failed, canceled, done), with the
 * reason of the first run in that state.
 */
export function deliverySummary(row: DeliveryRow, runs: readonly ListedRun[]): DeliverySummary {
  const code = Math.max(...runs.map((run) => run.state));
  const deciding = runs.filter((run) => run.state === code);
  const ends = runs.map((run) => run.settled_at);
  return {
    id: deliveryId(row.seq, row.tag),
    state: deliveryState(row.ended, runs),
    reason: row.ended === null ? (deciding.find((run) => run.reason !== null)?.reason ?? null) : row.reason,
    route: row.route,
    mappingId: row.mapping_id,
    name: row.name,
    receivedAt: isoTime(row.received_at),
    runIds: runIds(row.seq, row.tag, row.runs),
    event: row.event,
    actor: row.sender,
    level: levelOf(row.level),
    ...chainOfText(row.chain),
    relatedTo: relatedDelivery(row),
    ...(row.answered === null ? {} : { answered: row.answered }),
    ...(ends.length === 0 || ends.includes(null) ? {} : { settledAt: isoTime(Math.max(...ends.map(Number))) }),
    ...(row.resolved_at === null ? {} : { resolved: { at: isoTime(row.resolved_at), note: row.resolved_note } }),
  };
}

/** The state of a delivery, by its stored end or its runs. */
export function deliveryState(ended: number | null, runs: readonly { readonly state: number }[]): State {
  return ended === null ? runStateOf(Math.max(...runs.map((run) => run.state))) : endedStateOf(ended);
}

function relatedDelivery({ ended, related, related_tag: tag }: DeliveryRow): RelatedDelivery | null {
  if (related === null || tag === null) return null;
  const how = ended === ENDED_DUPLICATE ? "duplicate" : ended === ENDED_COALESCED ? "coalesced" : "replay";
  return { how, deliveryId: deliveryId(related, tag) };
}
