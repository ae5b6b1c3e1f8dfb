import { answerEmpty, answerJson } from "../http/respond.ts";
import type { Answer } from "../http/respond.ts";
import type { Accepted } from "./accept.ts";

const SKIPPED = answerEmpty(204);

/**
 * The answer to an accepted call: 200 for a wake, 202 for agent runs, 204 when it was skipped
 * (specification 4.1, 4.2). A repeat gets the answer of the first call.
 */
export function respond({ deliveryId, runIds, specs }: Accepted): Answer {
  const first = specs[0];
  if (!first) return SKIPPED;
  const runId = runIds[0];
  if (runIds.length > 1) {
    const dispatched = runIds.length;
    return answerJson(202, { ok: true, runId, runIds, dispatched, deliveryId });
  }
  return first.kind === "wake"
    ? answerJson(200, { ok: true, mode: first.mode, deliveryId })
    : answerJson(202, { ok: true, runId, deliveryId });
}
