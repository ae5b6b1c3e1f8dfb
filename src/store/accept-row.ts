import type { RunSpec } from "../delivery.ts";
import type { NewDelivery } from "./delivery-store.ts";
import type { AcceptRow } from "./accept-operation.ts";
import { packMarks } from "./packed-marks.ts";
import { storeSpec } from "./stored-spec.ts";
import { AGENT, codeOfEnded, RUNS_PER_DELIVERY, WAKE } from "./sqlite-codes.ts";

/**
 * Writes a delivery as a row for the writer thread.
 *
 * Throws a RangeError for a delivery that could never be seen or carried out: with neither runs nor
 * an end, with more runs than keys are reserved for, or with too many marks.
 */
export function acceptRow(seq: number, tag: string, delivery: NewDelivery): AcceptRow {
  const { ended, idempotency, runs } = delivery;
  if (runs.length > RUNS_PER_DELIVERY) {
    throw new RangeError(`A delivery has at most ${RUNS_PER_DELIVERY} runs; this one has ${runs.length}.`);
  }
  if ((runs.length === 0) !== (ended !== undefined)) {
    throw new RangeError("A delivery has either runs or an end.");
  }
  const runFields: (string | number | null)[] = [];
  for (const { lane, spec } of runs) {
    const { text, json } = storeSpec(spec);
    runFields.push(lane, codeOfKind(spec.kind), json, text);
  }
  return [
    seq,
    tag,
    delivery.receivedAt,
    delivery.route,
    delivery.mappingId,
    delivery.name,
    ended === undefined ? null : codeOfEnded(ended.state),
    ended === undefined ? null : ended.reason,
    JSON.stringify(delivery.headers),
    JSON.stringify(delivery.query),
    delivery.body,
    idempotency === undefined ? null : idempotency.key,
    idempotency === undefined ? null : idempotency.fingerprint,
    idempotency === undefined ? 0 : idempotency.expiresAt,
    packMarks(delivery.marks),
    ...runFields,
  ];
}

function codeOfKind(kind: RunSpec["kind"]): number {
  return kind === "wake" ? WAKE : AGENT;
}
