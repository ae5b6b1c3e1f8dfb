import { ERRORS, isRefusal } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { BulkOutcome, OperationOutcome } from "../index.ts";

/** What became of an operation on one delivery, as the API tells it. */
export function outcomeJson(outcome: OperationOutcome): object {
  switch (outcome.kind) {
    case "replayed": {
      const { deliveryId, runIds, state, gathered } = outcome;
      const replay = { deliveryId, runIds, state };
      return {
        outcome: outcome.kind,
        replay: gathered === undefined ? replay : { ...replay, ...gatheredJson(gathered) },
      };
    }
    case "canceled":
      return { outcome: outcome.kind, runs: outcome.runs };
    case "left":
      return { outcome: outcome.kind, reason: outcome.reason };
    case "refused":
      return { outcome: outcome.kind, ...refusalJson(outcome.refusal) };
    case "planned":
      return { outcome: outcome.kind, ...(outcome.replay && { replay: outcome.replay }) };
    case "removed":
    case "emptied":
    case "unknown":
      return { outcome: outcome.kind };
  }
}

type Gathered = NonNullable<Extract<OperationOutcome, { kind: "replayed" }>["gathered"]>;

function gatheredJson({ deliveries, left, stopped }: Gathered): object {
  return {
    gathered: deliveries.map(({ of: id, result }) =>
      isRefusal(result)
        ? { id, outcome: "refused", ...refusalJson(result) }
        : { id, outcome: "replayed", replay: { deliveryId: result.deliveryId, state: result.state } },
    ),
    left,
    stopped: stopped === undefined ? null : refusalJson(stopped),
  };
}

function refusalJson({ refused: code, message }: Refusal): { readonly code: string; readonly error: string } {
  return { code, error: message ?? ERRORS[code].message };
}

/** The answer to an operation on many deliveries; states are those from before. */
export function bulkJson(bulk: BulkOutcome, { dryRun }: { dryRun: boolean }): object {
  const { matched, more, deliveries, unknown, stopped } = bulk;
  return {
    ok: stopped === undefined,
    dryRun,
    matched,
    more,
    stopped: stopped === undefined ? null : refusalJson(stopped),
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
