import type { SettledState, AgentSpec, ReplyOutcome, ReplyTarget } from "../../core/run.ts";
import type { Outages, ActiveRun } from "../context.ts";
import type { FinalResult } from "../run/agent-attempts.ts";
import { firstOf, namedOf } from "./outage-registry.ts";

/** The final result of a run. */
export interface RunEnd {
  readonly result: FinalResult;
  readonly state: SettledState;
  readonly outcome: ReplyOutcome;
}

const KEPT = "They are kept: reveille deliveries list --state failed";

/**
 * Says what a settled run shows of its agent and of where its reply goes: that they work, or what a person
 * must do. A channel's refusal is reported where the reply is sent. All is reported at once, in the order in which
 * runs end; a notice may then take its time. Never rejects.
 */
export async function reportHealth(outages: Outages, run: ActiveRun, end: RunEnd): Promise<void> {
  const agent = run.spec.mode === "deliver" ? undefined : reportAgent(outages, run, end.result);
  const target = end.result.status === "ok" ? reportTarget(outages, run, end) : undefined;
  await agent;
  await target;
}

/** The failure of a run in words of our own: `error after 3 attempts`. */
export function failureText({ status, failures }: FinalResult): string {
  return failures > 1 ? `${status} after ${failures} attempts` : status;
}

function reportAgent(outages: Outages, { spec, mappingId }: ActiveRun, result: FinalResult): Promise<unknown> {
  const agent = `runs:${spec.agentId}`;
  const mapping = `${agent}:${mappingId ?? ""}`;
  const whose = `Runs of the agent ${spec.agentId}`;
  const ofMapping = mappingId === null ? whose : `${whose} for the mapping ${mappingId}`;
  if (result.status === "ok") {
    return Promise.all([
      outages.works(agent, `${whose} succeed again.`),
      outages.works(mapping, `${ofMapping} succeed again.`),
    ]);
  }
  // An error that may pass is the agent's own trouble, whichever mapping met it first; any other is the mapping's.
  const [subject, failing, first] =
    result.retryable === true ? [agent, whose, firstOf(mappingId)] : [mapping, ofMapping, ""];
  return outages.failed(subject, `${failing} fail (${failureText(result)})${first}. ${KEPT}`, {
    detail: result.error,
    of: namedOf(mappingId),
  });
}

function reportTarget(
  outages: Outages,
  { spec, mappingId }: ActiveRun,
  { state, outcome }: RunEnd,
): Promise<void> | undefined {
  // Without a mapping it is a call of the route `agent`.
  const subject = `target:${mappingId ?? "agent"}`;
  const whose = mappingId === null ? "Messages" : `Messages of the mapping ${mappingId}`;
  if (outcome === "sent" || outcome === "fallback") return outages.works(subject, `${whose} are delivered again.`);
  const missing = state === "failed" ? missingTarget(spec, outcome) : undefined;
  if (missing === undefined) return undefined;
  return outages.failed(subject, `${whose} cannot be delivered. ${missing} ${KEPT}`, { of: namedOf(mappingId) });
}

/** The target that was not found, in words the gateway wrote when it accepted the call. */
function missingTarget({ delivery, fallback }: AgentSpec, outcome: ReplyOutcome): string | undefined {
  const missing = outcome === "no-target" ? [unresolved(delivery) ?? "No target was asked for."] : [];
  const second = unresolved(fallback);
  if (second !== undefined) missing.push(`The fallback: ${second}`);
  return missing.length === 0 ? undefined : missing.join(" ");
}

function unresolved(target: ReplyTarget | undefined): string | undefined {
  return target === undefined || "channel" in target ? undefined : target.unresolved;
}
