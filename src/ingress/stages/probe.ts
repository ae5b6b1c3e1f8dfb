import { isRefusal, type Refusal } from "../../core/errors.ts";
import { type Answer, answerJson } from "../../http/answer.ts";
import type { RequestFacts } from "../request-log.ts";
import type { Rendered } from "./render.ts";
import type { Resolved } from "./resolve.ts";

/** The answer to a probe. */
export interface ProbeAnswer {
  readonly ok: true;
  readonly probe: true;
  /** The state in which a delivery would have been accepted. */
  readonly outcome: string;
  readonly reason: string | null;
  readonly mappingId: string | null;
}

/** Says what would have been accepted; nothing was. */
export function answerProbe(
  judged: { readonly resolved: Resolved; readonly rendered: Rendered } | Refusal,
  facts: RequestFacts,
): Answer | Refusal {
  facts.handshake = "probe";
  if (isRefusal(judged)) return judged;
  const { resolved, rendered } = judged;
  const mappingId = typeof resolved.route === "string" ? null : resolved.route.config.id;
  const { state = "queued", reason = null } = rendered.ended ?? {};
  return answerJson(200, { ok: true, probe: true, outcome: state, reason, mappingId } satisfies ProbeAnswer);
}
