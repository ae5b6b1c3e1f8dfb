/** Rights that a mapping leaves to its runs, by what the gateway can hold them to. */
import { LEVELS } from "../../core/delivery.ts";
import type { AgentCatalog, AskedRights, ChannelInfo } from "../../core/host.ts";
import type { Findings } from "../errors.ts";
import { canAsk, NO_ONE_TO_ASK } from "../permissions.ts";
import type { LevelRights } from "./rights.ts";
import type { MappingConfig } from "./schema.ts";

/** Refuses permissions that ask where no question can be sent, and rights that the gateway cannot enforce. */
export function checkEnforceable(
  mapping: MappingConfig,
  { agents, channels }: { readonly agents: AgentCatalog; readonly channels: readonly ChannelInfo[] | undefined },
  findings: Findings,
): void {
  const { where, rights } = mapping;
  const permissions = [mapping.permissions, ...Object.values(rights ?? {}).map((level) => level.permissions)];
  if (permissions.includes("ask") && channels && !canAsk(channels)) findings.refuseReference(where, NO_ONE_TO_ASK);
  const problem = agents.rightsProblem?.(askedOf(mapping, undefined));
  if (problem !== undefined)
    findings.refuseReference(where, `cannot be held to its rights here: this gateway ${problem}`);
  if (problem !== undefined || rights === undefined) return;
  for (const [at, level] of LEVELS.entries()) {
    if (at > 0 && rights[level] === rights[LEVELS[at - 1]!]) continue;
    const ofLevel = agents.rightsProblem?.(askedOf(mapping, rights[level]));
    if (ofLevel === undefined) continue;
    findings.refuseReference(`${where}.rights.${level}`, `cannot be held to here: this gateway ${ofLevel}`);
  }
}

function askedOf(
  { action, permissions, tools, workspace }: MappingConfig,
  rights: LevelRights | undefined,
): AskedRights {
  return {
    kind: action,
    permissions: rights?.permissions ?? permissions,
    tools: rights?.tools ?? tools,
    egress: rights?.egress,
    hasWorkspace: workspace !== undefined && rights?.workspace !== false && action === "agent",
  };
}
