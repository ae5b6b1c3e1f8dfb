import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { AgentCatalog } from "../core/host.ts";

/** The configuration of the choice of agents (specification 2.1). */
export interface AgentRules {
  /** `undefined`: any agent. */
  readonly allowedAgentIds: ReadonlySet<string> | undefined;
  /** True when the list also governs calls that name no agent. */
  readonly requireAllowedAgent: boolean;
}

/**
 * Chooses the agent of a run. An unknown id falls back to the default agent; the list governs
 * explicit ids and is asked about the agent that the id resolves to (specification 4.2).
 */
export function chooseAgent(
  agents: AgentCatalog,
  { allowedAgentIds: allowed, requireAllowedAgent }: AgentRules,
  requested: string | undefined,
): string | Refusal {
  const agentId = agents.resolve(requested).id;
  if (allowed === undefined || allowed.has(agentId)) return agentId;
  if (requested === undefined && !requireAllowedAgent) return agentId;
  return refuse("AGENT_NOT_ALLOWED");
}
