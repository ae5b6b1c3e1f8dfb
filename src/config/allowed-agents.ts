import type { AgentCatalog } from "../core/host.ts";
import type { Findings } from "./errors.ts";
import { isKnownAgent } from "./mapping/rules.ts";
import { showValue } from "./show-value.ts";

/**
 * Reads `hooks.allowedAgentIds` (specification 2.1): `undefined` for any agent, empty for none. Ids
 * get the catalog's spelling; an unknown one is kept with a warning. Without a catalog they stay unchanged.
 */
export function readAllowedAgentIds(
  written: readonly string[] | undefined,
  agents: AgentCatalog | undefined,
  findings: Findings,
): ReadonlySet<string> | undefined {
  if (written === undefined) return undefined;
  const allowed = new Set<string>();
  for (const [at, entry] of written.entries()) {
    const id = entry.trim();
    if (id === "*") return undefined;
    if (id === "") continue;
    const isKnown = agents === undefined || isKnownAgent(agents, id);
    if (!isKnown) findings.warn(`hooks.allowedAgentIds[${at}]`, `no agent is called ${showValue(id)}`);
    allowed.add(agents !== undefined && isKnown ? agents.resolve(id).id : id);
  }
  return allowed;
}
