import type { AcceptResult } from "./accept.ts";
import type { AcceptOutcome } from "../../new-delivery.ts";
import { deliveryId, type DeliveryKey, runId, runIds } from "../public-id.ts";
import { ENDED_COALESCED, RUNS_PER_DELIVERY } from "../codes.ts";

/** What the writer thread answered, as the caller of `accept` is told; `runs` is how many the delivery has. */
export function acceptOutcome(key: DeliveryKey, runs: number, result: NonNullable<AcceptResult>): AcceptOutcome {
  const id = deliveryId(key.seq, key.tag);
  const accepted = { kind: "accepted", deliveryId: id, runIds: runIds(key.seq, key.tag, runs) } as const;
  switch (result.kind) {
    case "repeat":
      return { kind: "repeat", deliveryId: deliveryId(result.seq, result.tag), runIds: answeredRunIds(result) };
    case "conflict":
      return { kind: "conflict", deliveryId: deliveryId(result.seq, result.tag) };
    case "coalesced":
      return { kind: "coalesced", deliveryId: id, runId: runId(result.run, result.tag), dueAt: result.dueAt };
    case "coalescing":
      return { ...accepted, dueAt: result.dueAt };
    case "skipped":
      return { kind: "skipped", deliveryId: id, reason: result.reason };
    case "superseding":
      return { ...accepted, superseded: { runIds: supersededIds(result.runs), reason: result.reason } };
  }
}

/** The caller of a coalesced delivery was given the run that it became a part of. */
function answeredRunIds(first: Extract<AcceptResult, { kind: "repeat" }>): string[] {
  if (first.ended !== ENDED_COALESCED || first.related === null || first.related_tag === null) {
    return runIds(first.seq, first.tag, first.runs);
  }
  return [runId(first.related * RUNS_PER_DELIVERY, first.related_tag)];
}

function supersededIds(runs: readonly (number | string)[]): string[] {
  const ids: string[] = [];
  for (let at = 0; at < runs.length; at += 2) ids.push(runId(Number(runs[at]), String(runs[at + 1])));
  return ids;
}
