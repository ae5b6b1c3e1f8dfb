import type { RunSpec } from "../../../core/run.ts";
import { GROUPED_WAITS, type NewDelivery } from "../../new-delivery.ts";
import { writesWaits } from "../../wait-store.ts";
import { AGENT, codeOfEnded, chainText, codeOfLevel, RUNS_PER_DELIVERY, WAKE } from "../../sqlite/codes.ts";
import { type DeliveryKey, parseDeliveryId } from "../../sqlite/public-id.ts";
import { type StoredSpec, storeSpec } from "../../sqlite/stored-spec.ts";

/** Bytes of a key that are stored: 128 bits of a digest are as good as all. */
const KEY_BYTES = 16;
const MAX_REPLAY_KEYS = 8;
/** Bytes that a delivery, and each of its runs, counts for besides its texts. */
export const ROW_BYTES = 500;

/** A request counts as of the time it began; a copy may have begun before and still be on its way. */
export const CLAIM_GRACE_MS = 1_800_000;

/** A key under which the delivery is recognized or joins others, and the same as a text. */
export interface StoredKey {
  readonly bytes: Buffer;
  readonly hex: string;
}

export interface KeyClaim extends StoredKey {
  readonly expiresAt: number;
}

export interface NewRunRow extends StoredSpec {
  readonly lane: string;
  readonly kind: number;
  readonly expiresAt: number | null;
}

/** A delivery as it is written, before it has a number. */
export interface NewDeliveryRow {
  readonly delivery: NewDelivery;
  readonly tag: string;
  readonly level: number | null;
  readonly chain: string | null;
  readonly headers: string;
  readonly query: string;
  readonly runs: readonly NewRunRow[];
  readonly ended: number | null;
  readonly replayOf: DeliveryKey | undefined;
  readonly claim: KeyClaim | undefined;
  readonly replayKeys: readonly KeyClaim[];
  readonly coalesce: StoredKey | undefined;
  readonly overlap: StoredKey | undefined;
}

/**
 * Prepares a delivery for the writer. Throws a RangeError for one that could never be seen or carried out, as
 * {@link NewDelivery} says.
 */
export function newDeliveryRow(delivery: NewDelivery, tag: string): NewDeliveryRow {
  assertWhole(delivery);
  const { ended, idempotency, runs, coalesce, overlap, replayOf, replayKeys = [] } = delivery;
  const replayed = replayOf === undefined ? undefined : parseDeliveryId(replayOf);
  if (replayOf !== undefined && replayed === undefined) {
    throw new RangeError("A replay names the delivery that it is a replay of by its id.");
  }
  return {
    delivery,
    tag,
    level: codeOfLevel(delivery.level),
    chain: chainText(delivery.chain),
    headers: JSON.stringify(delivery.headers),
    query: JSON.stringify(delivery.query),
    runs: runs.map(({ lane, spec, expiresAt }) => ({
      lane,
      kind: spec.kind === "wake" ? WAKE : AGENT,
      expiresAt: expiresAt ?? null,
      ...storeText(spec),
    })),
    ended: ended === undefined ? null : codeOfEnded(ended.state),
    replayOf: replayed,
    claim: idempotency && { ...storedKey(idempotency.key), expiresAt: idempotency.expiresAt },
    replayKeys: replayKeys.map(({ key, expiresAt }) => ({ ...storedKey(key), expiresAt })),
    coalesce: coalesce && storedKey(coalesce.key),
    overlap: overlap && runs.length > 0 ? storedKey(overlap.key) : undefined,
  };
}

function assertWhole({ ended, runs, coalesce, overlap, held, waits, replayKeys = [] }: NewDelivery): void {
  const isGrouped = (coalesce ?? overlap) !== undefined;
  if (runs.length > RUNS_PER_DELIVERY) {
    throw new RangeError(`A delivery has at most ${RUNS_PER_DELIVERY} runs; this one has ${runs.length}.`);
  }
  if ((runs.length === 0) !== (ended !== undefined)) throw new RangeError("A delivery has either runs or an end.");
  if (isGrouped && writesWaits(waits)) throw new RangeError(GROUPED_WAITS);
  if (ended?.state === "failed" && isGrouped) {
    throw new RangeError("A delivery that has failed at once has neither coalesce nor overlap: it has no run.");
  }
  if (coalesce !== undefined && (runs.length !== 1 || overlap !== undefined)) {
    throw new RangeError("A delivery is coalesced only when it has exactly one run and no overlap.");
  }
  if (held !== undefined && (ended !== undefined || isGrouped)) {
    throw new RangeError("A delivery is held only with runs that neither coalesce nor overlap.");
  }
  if (replayKeys.length > MAX_REPLAY_KEYS) {
    throw new RangeError(`A delivery has at most ${MAX_REPLAY_KEYS} replay keys.`);
  }
}

function storedKey(key: Uint8Array): StoredKey {
  const bytes = Buffer.from(key.subarray(0, KEY_BYTES));
  return { bytes, hex: bytes.toString("hex") };
}

/** A text with U+0000 stays within the JSON, which escapes it. */
function storeText(spec: RunSpec): StoredSpec {
  const stored = storeSpec(spec);
  return stored.text?.includes("\0") === true ? { text: null, json: JSON.stringify(spec) } : stored;
}

/** The counted bytes of a delivery without its request. */
export function emptyBytes(runs: number): number {
  return ROW_BYTES * (1 + runs);
}

/** The counted bytes of a delivery that is stored without its runs. */
export function requestBytes({ headers, query, delivery }: NewDeliveryRow): number {
  return ROW_BYTES + headers.length + query.length + delivery.body.byteLength;
}

/** The counted bytes of a delivery with its runs. */
export function deliveryBytes(row: NewDeliveryRow): number {
  return row.runs.reduce(
    (sum, { json, text }) => sum + ROW_BYTES + json.length + (text?.length ?? 0),
    requestBytes(row),
  );
}
