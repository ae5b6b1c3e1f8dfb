import { ERRORS } from "../../errors.ts";
import type { BulkOutcome, OperationOutcome } from "../../index.ts";

/** What became of an operation on one delivery, as the API tells it. */
export function outcomeJson(outcome: OperationOutcome): object {
  switch (outcome.kind) {
    case "replayed": {
      const { deliveryId, runIds, state } = outcome;
      return { outcome: outcome.kind, replay: { deliveryId, runIds, state } };
    }
    case "canceled":
      return { outcome: outcome.kind, runs: outcome.runs };
    case "left":
      return { outcome: outcome.kind, reason: outcome.reason };
    case "refused": {
      const { refused: code, message } = outcome.refusal;
      return { outcome: outcome.kind, code, error: message ?? ERRORS[code].message };
    }
    case "removed":
    case "emptied":
    case "planned":
    case "unknown":
      return { outcome: outcome.kind };
  }
}

/** The answer to an operation on many deliveries; states are those from before. */
export function bulkJson(bulk: BulkOutcome, { dryRun }: { dryRun: boolean }): object {
  const { matched, more, deliveries, unknown, stopped } = bulk;
  return {
    ok: stopped === undefined,
    dryRun,
    matched,
    more,
    stopped:
      stopped === undefined
        ? null
        : { code: stopped.refused, error: stopped.message ?? ERRORS[stopped.refused].message },
    deliveries: [
      ...unknown.map((id) => ({ id, outcome: "unknown" })),
      ...deliveries.map(({ delivery: { id, state, route, name, receivedAt }, outcome }) => ({
        id,
        state,
        route,
        name,
        receivedAt,
        ...outcomeJson(outcome),
      })),
    ],
  };
}
