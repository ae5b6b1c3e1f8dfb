import { answerContent, answerEmpty, answerJson } from "../http/respond.ts";
import type { Answer } from "../http/respond.ts";
import { readAnswer } from "../presets/read-event.ts";
import type { Accepted } from "./accept.ts";
import type { Resolved } from "./resolve.ts";

const SKIPPED = answerEmpty(204);

/**
 * The answer to an accepted call: 200 for wakes, 202 when an agent runs, 204 when it was skipped
 * (specification 4.1, 4.2), 200 when it was filtered; or what the route's sender needs instead. A
 * repeat gets the answer of the first call.
 */
export function respond({ route, context }: Resolved, accepted: Accepted): Answer {
  if (typeof route !== "string" && route.preset) {
    const wanted = readAnswer(route.preset, context, route.config.settings);
    if (wanted) return answerContent(wanted);
  }
  return ordinaryAnswer(accepted);
}

function ordinaryAnswer({ deliveryId, runIds, specs, ended }: Accepted): Answer {
  const first = specs[0];
  if (!first) return ended === "filtered" ? answerJson(200, { ok: true, deliveryId, skipped: "filter" }) : SKIPPED;
  const runId = runIds[0];
  if (runIds.length > 1) {
    const status = specs.every(({ kind }) => kind === "wake") ? 200 : 202;
    return answerJson(status, { ok: true, runId, runIds, dispatched: runIds.length, deliveryId });
  }
  return first.kind === "wake"
    ? answerJson(200, { ok: true, mode: first.mode, deliveryId })
    : answerJson(202, { ok: true, runId, deliveryId });
}
