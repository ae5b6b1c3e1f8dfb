import type { RunState, Attempt } from "../../core/run.ts";

/** The reason why a run did not succeed, in words that its caller may read. */
export interface CallerError {
  readonly code: string;
  readonly error: string;
}

const FAILED = { code: "RUN_FAILED", error: "The agent's run failed." } as const;

/** By the status of the last attempt. */
const BY_STATUS: Partial<Record<Attempt["status"], CallerError>> = {
  ok: { code: "REPLY_NOT_DELIVERED", error: "The agent has finished, but its reply could not be delivered." },
  timeout: { code: "RUN_TIMED_OUT", error: "The agent's run took longer than it may." },
  aborted: { code: "RUN_ABORTED", error: "The agent's run was aborted." },
};

/**
 * The error of a settled run for its caller; `undefined` when it is done. The text of a model's endpoint or a
 * channel may name keys, hosts and accounts: it stays in the delivery, for the operator. The reasons of a skipped
 * and a canceled run are the gateway's own.
 */
export function callerError(
  { state, reason }: { readonly state: RunState; readonly reason: string | null },
  lastStatus: Attempt["status"] | undefined,
): CallerError | undefined {
  if (state === "done") return undefined;
  if (state === "canceled") return { code: "RUN_CANCELED", error: reason ?? "The run was canceled." };
  if (state === "skipped") return { code: "RUN_SKIPPED", error: reason ?? "The run was skipped." };
  return (lastStatus && BY_STATUS[lastStatus]) ?? FAILED;
}
