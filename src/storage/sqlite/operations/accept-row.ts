import type { RunSpec } from "../../../core/run.ts";
import { GROUPED_WAITS, type NewDelivery } from "../../new-delivery.ts";
import { type WaitChange, type WaitClaim, writesWaits } from "../../wait-store.ts";
import { packKey, packReplayKeys } from "../replay-keys.ts";
import { parseDeliveryId } from "../public-id.ts";
import { chainText, AGENT, codeOfEnded, codeOfLevel, RUNS_PER_DELIVERY, WAKE } from "../codes.ts";
import { quoteBody } from "../quotation.ts";
import { shortSpec } from "../short-spec.ts";
import { storeSpec } from "../stored-spec.ts";

/**
 * A delivery as it travels to the writer thread: flat, because cloning an array of scalars costs a
 * third of cloning the objects they came from; and short, because each scalar costs something too.
 */
export type AcceptRow = readonly [
  seq: number,
  tag: string,
  receivedAt: number,
  route: string,
  mappingId: string | null,
  name: string,
  event: string | null,
  sender: string | null,
  credential: string | null,
  headers: string,
  query: string,
  body: Uint8Array,
  claimKey: Uint8Array | null,
  fingerprint: Uint8Array | null,
  expiresAt: number,
  /** See {@link packReplayKeys}. */
  marks: string | null,
  /** `null` for most deliveries. */
  particulars: AcceptExtras | null,
  answered: number | null,
  level: number | null,
  chain: string | null,
  /** What the text of the first run quotes of the body: see {@link quoteBody}. */
  quotation: number | null,
  /** Lane, kind, spec, text and time of expiry of each run, in order. */
  ...runs: (string | number | null)[],
];

/** The positions in an {@link AcceptRow}; the others are named where the row is read. */
export const AT = {
  route: 3,
  mappingId: 4,
  name: 5,
  headers: 9,
  query: 10,
  body: 11,
  claimKey: 12,
  fingerprint: 13,
  expiresAt: 14,
  replayKeys: 15,
  extras: 16,
  answered: 17,
  level: 18,
  chain: 19,
  quotation: 20,
  runs: 21,
} as const;
/** Fields of a run. */
export const RUN_FIELDS = 5;

/** The extra fields of a delivery that ends at once, is a replay, coalesces or overlaps. */
export interface AcceptExtras {
  readonly ended: number | null;
  readonly reason: string | null;
  /** Of the delivery that it is a replay of. */
  readonly related: number | null;
  readonly relatedTag: string | null;
  readonly group: CallGroup | null;
  /** Why its runs wait for a person. */
  readonly held: string | null;
  readonly waits: WaitWrites | null;
}

/** Waits that the delivery changes, and the one that it makes. */
export interface WaitWrites {
  readonly changes: readonly WaitChange[];
  readonly added: WaitClaim["added"] | null;
}

/** The claim of a delivery that coalesces or overlaps with others of its key; keys as {@link packKey} writes them. */
export type CallGroup =
  | { readonly kind: "coalesce"; readonly key: string; readonly windowMs: number; readonly maxWaitMs: number }
  | { readonly kind: "skip" | "latest"; readonly key: string };

/**
 * Writes a delivery as a row for the writer thread.
 *
 * Throws a RangeError for a delivery that could never be seen or carried out: with neither runs nor
 * an end, with more runs than keys are reserved for, with too many replay keys, coalesced although it has not
 * exactly one run or has an overlap, held although it has one of these or no run, failed although it has one of these, or a replay of what was never a
 * delivery.
 */
export function acceptRow(seq: number, tag: string, delivery: NewDelivery): AcceptRow {
  const { ended, idempotency, runs } = delivery;
  if (runs.length > RUNS_PER_DELIVERY) {
    throw new RangeError(`A delivery has at most ${RUNS_PER_DELIVERY} runs; this one has ${runs.length}.`);
  }
  if ((runs.length === 0) !== (ended !== undefined)) {
    throw new RangeError("A delivery has either runs or an end.");
  }
  if (ended?.state === "failed" && (delivery.coalesce ?? delivery.overlap) !== undefined) {
    throw new RangeError("A delivery that has failed at once has neither coalesce nor overlap: it has no run.");
  }
  const runFields: (string | number | null)[] = [];
  let quotation: number | null = null;
  for (const { lane, spec, expiresAt } of runs) {
    // A call that is coalesced has no run of its own, and so no lane.
    const stored = delivery.coalesce === undefined ? shortSpec(spec, lane) : storeSpec(spec);
    let { text } = stored;
    // The row of the first run has the body beside the text.
    if (text !== null && runFields.length === 0) ({ text, quotation } = quoteBody(text, delivery.body));
    runFields.push(lane, codeOfKind(spec.kind), stored.json, text, expiresAt ?? null);
  }
  return [
    seq,
    tag,
    delivery.receivedAt,
    delivery.route,
    delivery.mappingId,
    delivery.name,
    delivery.event ?? null,
    delivery.actor ?? null,
    delivery.credentialId ?? null,
    JSON.stringify(delivery.headers),
    JSON.stringify(delivery.query),
    delivery.body,
    idempotency === undefined ? null : idempotency.key,
    idempotency === undefined ? null : idempotency.fingerprint,
    idempotency === undefined ? 0 : idempotency.expiresAt,
    packReplayKeys(delivery.replayKeys),
    extrasOf(delivery),
    delivery.answered ?? null,
    codeOfLevel(delivery.level),
    chainText(delivery.chain),
    quotation,
    ...runFields,
  ];
}

function extrasOf(delivery: NewDelivery): AcceptExtras | null {
  const { coalesce, ended, overlap, replayOf, held, waits } = delivery;
  const writes = writesWaits(waits) ? { changes: waits.changes, added: waits.added ?? null } : null;
  const isGrouped = (coalesce ?? overlap) !== undefined;
  if (!isGrouped && ended === undefined && (replayOf ?? held) === undefined && writes === null) return null;
  if (isGrouped && writes !== null) throw new RangeError(GROUPED_WAITS);
  if (held !== undefined && (ended !== undefined || isGrouped)) {
    throw new RangeError("A delivery is held only with runs that neither coalesce nor overlap.");
  }
  const replayed = replayOf === undefined ? undefined : parseDeliveryId(replayOf);
  if (replayOf !== undefined && replayed === undefined) {
    throw new RangeError("A replay names the delivery that it is a replay of by its id.");
  }
  return {
    ended: ended === undefined ? null : codeOfEnded(ended.state),
    reason: ended?.reason ?? null,
    related: replayed?.seq ?? null,
    relatedTag: replayed?.tag ?? null,
    group: groupOf(delivery),
    held: held ?? null,
    waits: writes,
  };
}

function groupOf({ coalesce, overlap, runs }: NewDelivery): CallGroup | null {
  if (coalesce !== undefined) {
    if (runs.length !== 1 || overlap !== undefined) {
      throw new RangeError("A delivery is coalesced only when it has exactly one run and no overlap.");
    }
    const { key, windowMs, maxWaitMs } = coalesce;
    return { kind: "coalesce", key: packKey(key), windowMs, maxWaitMs };
  }
  // Without a run there is nothing that could overlap.
  if (overlap === undefined || runs.length === 0) return null;
  return { kind: overlap.mode, key: packKey(overlap.key) };
}

function codeOfKind(kind: RunSpec["kind"]): number {
  return kind === "wake" ? WAKE : AGENT;
}
