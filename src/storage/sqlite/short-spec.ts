/**
 * The specs of agents' runs differ in few values. What nearly all of them have is left out where it is stored, and so
 * is the session key where it is the run's lane: two thirds of the JSON, and a third of what a delivery takes beside its
 * body.
 */
import type { AgentSpec, RunSpec } from "../../core/run.ts";
import { storeSpec, type StoredSpec } from "./stored-spec.ts";

/** What a spec without a `kind` has, unless it says otherwise. Files have such specs: no value may ever change. */
const USUAL = {
  kind: "agent",
  agentId: "main",
  wakeMode: "now",
  timeoutMs: 600_000,
  interrupted: "rerun",
  source: "Webhook",
  unsafe: false,
} as const satisfies Partial<AgentSpec>;

const usualStart = JSON.stringify(USUAL).slice(0, -1);
const laneOfRun = "(SELECT lane FROM runs WHERE runs.id = contents.id)";

/** The whole spec of a row of `contents`, as SQL. A key may be there twice; the second one counts, as everywhere in JSON. */
export const WHOLE_SPEC = `iif(spec ->> '$.kind' IS NULL, '${usualStart},"sessionKey":' || json_quote(${laneOfRun}) || ',' || substr(spec, 2), spec)`;

/** A spec as it is stored with its run; `WHOLE_SPEC` reads it. */
export function shortSpec(spec: RunSpec, runLane: string): StoredSpec {
  if (spec.kind === "wake" || !spec.message.isWellFormed()) return storeSpec(spec);
  const rest = {
    ...spec,
    message: undefined,
    kind: undefined,
    agentId: spec.agentId === USUAL.agentId ? undefined : spec.agentId,
    sessionKey: spec.sessionKey === runLane ? undefined : spec.sessionKey,
    wakeMode: spec.wakeMode === USUAL.wakeMode ? undefined : spec.wakeMode,
    timeoutMs: spec.timeoutMs === USUAL.timeoutMs ? undefined : spec.timeoutMs,
    interrupted: spec.interrupted === USUAL.interrupted ? undefined : spec.interrupted,
    source: spec.source === USUAL.source ? undefined : spec.source,
    unsafe: spec.unsafe === USUAL.unsafe ? undefined : spec.unsafe,
  };
  return { text: spec.message, json: JSON.stringify(rest) };
}
