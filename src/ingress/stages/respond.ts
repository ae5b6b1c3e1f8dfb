import type { RespondConfig } from "../../config/respond.ts";
import type { PayloadContext } from "../../core/delivery.ts";
import { type EndedState, isOfCaller, type RunSpec } from "../../core/run.ts";
import { ERRORS } from "../../core/errors.ts";
import { answerConfigured, answerContent, answerEmpty, answerJson, type Answer } from "../../http/answer.ts";
import type { CompiledMapping } from "../../mapping/compile-mapping.ts";
import { readAnswer } from "../../presets/read-event.ts";
import type { Accepted } from "../commit.ts";
import type { Rendered } from "./render.ts";
import type { Resolved } from "./resolve.ts";

const SKIPPED = answerEmpty(204);

/**
 * The answer to an accepted call: 200 for wakes, 202 when an agent runs, 204 when it was skipped
 * (specification 4.1, 4.2), 200 when it was filtered or an earlier run was still open; or what the mapping
 * says or the route's sender needs instead. A repeat gets the answer of the first call.
 *
 * With a preset, every accepted call is answered 200 with content: senders such as Linear and WorkOS count any
 * other status as a failure, and no sender refuses 200.
 */
export function respond({ route, context }: Resolved, accepted: Accepted): Answer {
  if (typeof route === "string") return ordinaryAnswer(accepted);
  const { respond: wanted, settings } = route.config;
  // The sender needs this answer in every state of the call.
  if (wanted.kind === "content") return contentAnswer(route, wanted, context, accepted);
  if (route.preset === undefined) return ordinaryAnswer(accepted);
  const ofSender = readAnswer(route.preset, context, settings);
  return ofSender ? answerContent(ofSender) : presetAnswer(accepted);
}

/**
 * The status of that answer, known before the call is on disk, so that it is stored with it. `null` for a caller that
 * waits for the result.
 */
export function plannedStatus(
  { route, context }: Resolved,
  { ended, failure, wait }: Pick<Rendered, "ended" | "failure" | "wait">,
  specs: readonly RunSpec[],
): number | null {
  if (failure !== undefined) return ERRORS[failure.refused].status;
  const waits = wait !== undefined || (typeof route !== "string" && route.config.respond.kind === "result");
  if (waits && specs.some(isOfCaller)) return null;
  const usual = ordinaryStatus(specs, ended?.state);
  if (typeof route === "string") return usual;
  const { respond: wanted, settings } = route.config;
  if (wanted.kind === "content") return wanted.status;
  return route.preset === undefined ? usual : (readAnswer(route.preset, context, settings)?.status ?? 200);
}

/** Of the answer to a call whose sender and mapping want nothing else. */
function ordinaryStatus(specs: readonly RunSpec[], ended: EndedState | undefined): number {
  if (specs.length === 0) return ended === "skipped" ? 204 : 200;
  return specs.every(({ kind }) => kind === "wake") ? 200 : 202;
}

function presetAnswer(accepted: Accepted): Answer {
  const answer = ordinaryAnswer(accepted);
  if (answer.payload === "")
    return answerJson(200, { ok: true, deliveryId: accepted.deliveryId, skipped: "no action" });
  return answer.status === 200 ? answer : { ...answer, status: 200 };
}

function contentAnswer(
  mapping: CompiledMapping,
  { status, headers }: Extract<RespondConfig, { kind: "content" }>,
  context: PayloadContext,
  accepted: Accepted,
): Answer {
  const { deliveryId, runIds } = accepted;
  const text = mapping.responseBody?.renderResponse(context, { deliveryId, runId: runIds[0] });
  return answerConfigured(text ?? ordinaryAnswer(accepted), { status, headers });
}

function ordinaryAnswer(accepted: Accepted): Answer {
  const { deliveryId, runIds, specs, ended } = accepted;
  const first = specs[0];
  if (!first) return endedAnswer(accepted);
  const runId = runIds[0];
  const status = ordinaryStatus(specs, ended);
  if (runIds.length > 1) {
    return answerJson(status, { ok: true, runId, runIds, dispatched: runIds.length, deliveryId });
  }
  if (ended === "coalesced") {
    return answerJson(status, { ok: true, runId, deliveryId, coalesced: true });
  }
  return first.kind === "wake"
    ? answerJson(status, { ok: true, mode: first.mode, deliveryId })
    : answerJson(status, { ok: true, runId, deliveryId });
}

function endedAnswer({ deliveryId, ended, overlapped }: Accepted): Answer {
  if (ended === "filtered") return answerJson(200, { ok: true, deliveryId, skipped: "filter" });
  return overlapped ? answerJson(200, { ok: true, deliveryId, skipped: "overlap" }) : SKIPPED;
}
