import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { AgentCatalog } from "../core/host.ts";

/**
 * Chooses the agent of a run. An unknown id falls back to the default agent; `allowed` governs
 * explicit ids and is asked about the agent that the id resolves to (specification 4.2).
 */
export function chooseAgent(
  agents: AgentCatalog,
  allowed: ReadonlySet<string> | undefined,
  requested: string | undefined,
): string | Refusal {
  const agentId = agents.resolve(requested).id;
  if (requested === undefined || allowed === undefined || allowed.has(agentId)) return agentId;
  return refuse("AGENT_NOT_ALLOWED");
}
