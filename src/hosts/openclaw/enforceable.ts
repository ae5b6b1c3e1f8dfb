/** What OpenClaw cannot hold an agent to: nothing is run with more rights than were left. */
import type { AgentRunRequest, AskedRights } from "../../core/host.ts";

/** Of one run, in words for the owner. */
export function unenforceable({ permissions, workspace, egress }: AgentRunRequest): string | undefined {
  const problem = rightsProblem({ kind: "agent", permissions, egress, hasWorkspace: workspace !== undefined });
  return problem && `OpenClaw ${problem}`;
}

/** Of a mapping, or of a level, as the predicate of a sentence about the host. */
export function rightsProblem({ kind, permissions, tools, egress, hasWorkspace }: AskedRights): string | undefined {
  if (hasWorkspace === true) return "gives each agent a workspace of its own; leave workspace out of the mapping.";
  if (egress !== undefined) return "cannot limit the hosts that a run reaches; leave egress out of the mapping.";
  if (kind === "wake" && (tools === "none" || (permissions !== undefined && permissions !== "all"))) {
    return 'cannot limit what a main session does with one of its events; write action: "agent", or leave permissions and tools out of the mapping.';
  }
  if (permissions === undefined || permissions === "all" || permissions === "deny") return undefined;
  return 'cannot hold a run to these permissions; in the mapping, write "deny" for a run without tools, or leave them out and limit the agent in OpenClaw.';
}
