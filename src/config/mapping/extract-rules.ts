/** Where a mapping cannot have an extraction, and what its model needs. */
import { LEVELS } from "../../core/delivery.ts";
import type { ExtractSpec } from "../../core/extraction.ts";
import type { AgentCatalog } from "../../core/host.ts";
import type { Findings } from "../errors.ts";
import type { MappingConfig } from "./schema.ts";

interface Placed {
  readonly extract: ExtractSpec;
  /** Its key. */
  readonly path: string;
  /** The agent of the runs. */
  readonly agentId: string | undefined;
}

/** The extractions of a mapping and of its levels, each once. */
function extractionsOf({ where, extract, rights, agentId }: MappingConfig): readonly Placed[] {
  const own = extract ? [{ extract, path: `${where}.extract`, agentId }] : [];
  const ofLevels = LEVELS.flatMap((level, at) => {
    const given = rights?.[level];
    const isRepeated = at > 0 && rights?.[LEVELS[at - 1]!] === given;
    const ofAgent = given?.agentId ?? agentId;
    const placed = given?.extract ?? (ofAgent === agentId ? undefined : extract);
    return placed === undefined || isRepeated
      ? []
      : [{ extract: placed, path: `${where}.rights.${level}.extract`, agentId: ofAgent }];
  });
  return [...own, ...ofLevels];
}

/** Refuses an extraction where the run would be given the payload all the same. */
export function checkExtract(mapping: MappingConfig, findings: Findings): void {
  const { action, chat, mode, allowUnsafeExternalContent } = mapping;
  const why =
    (chat !== undefined && "cannot be used together with chat: what the owner writes is given as it is") ||
    (action === "wake" &&
      'needs the action agent: the text of a wake goes to the main session as it is; write action: "agent", whose summary goes there') ||
    (mode === "deliver" && "cannot be used together with mode: deliver, which passes the text on as it is") ||
    (allowUnsafeExternalContent &&
      "cannot be used together with allowUnsafeExternalContent: whoever is trusted needs none");
  if (!why) return;
  for (const { path } of extractionsOf(mapping)) findings.refuse(path, why);
}

/** Refuses an extraction that the gateway cannot carry out, by its agents and models. */
export function checkExtractor(mapping: MappingConfig, agents: AgentCatalog, findings: Findings): void {
  for (const { extract, path, agentId } of extractionsOf(mapping)) {
    const problem = extractionProblem(agents, agents.resolve(agentId).id, extract.model);
    if (problem !== undefined) findings.refuseReference(path, problem);
  }
}

function extractionProblem(agents: AgentCatalog, agentId: string, model: string | undefined): string | undefined {
  if (agents.extractionProblem === undefined) {
    return "cannot be used with this gateway: it runs no model that is certain to have no tools, memory and channels; leave it out";
  }
  return agents.extractionProblem({ agentId, model });
}
