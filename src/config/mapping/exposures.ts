import { type Level, LEVELS } from "../../core/delivery.ts";
import type { Exposure } from "../../core/exposure.ts";
import type { AgentCatalog } from "../../core/host.ts";
import type { ExtractSpec } from "../../core/extraction.ts";
import type { Findings } from "../errors.ts";
import { isClosedForm } from "../extract/measure.ts";
import type { HooksConfig } from "../hooks.ts";
import { allThreeText, type ExposedAction, type ExposureContext, type ExposureRow, weigh } from "../rule-of-two.ts";
import type { LevelRights } from "./rights.ts";
import type { MappingConfig } from "./schema.ts";

interface RowsContext extends ExposureContext {
  readonly agents: AgentCatalog;
}

/** Weighs every mapping at every level, and direct calls of the default agent; refuses all three without a reason. */
export function readExposures(
  config: Pick<HooksConfig, "mappings" | "acceptAllThree" | "allowedAgentIds" | "requireAllowedAgent">,
  context: RowsContext,
  findings: Findings,
): readonly ExposureRow[] {
  // Of one that is set aside already, a preset's part is not known.
  const mappings = config.mappings.filter(({ broken }) => broken === undefined);
  const rows = [...directRows(config, context), ...mappings.flatMap((mapping) => mappingRows(mapping, context))];
  const refused = rows.filter(({ verdict }) => verdict === "refused");
  for (const row of refused) findings.refuse(row.where, `${subjectOf(row)} ${allThreeText(row, levelsText(row))}`);
  const needed = new Set(rows.filter(({ verdict }) => !isHarmless(verdict)).map(({ where }) => where));
  for (const { where, acceptAllThree } of mappings) {
    if (acceptAllThree === undefined || needed.has(where)) continue;
    findings.warn(`${where}.acceptAllThree`, "has no effect: no run of the mapping has all three; leave it out");
  }
  return rows;
}

function isHarmless(verdict: ExposureRow["verdict"]): boolean {
  return verdict === "two" || verdict === "asked";
}

/** The rows of one mapping: one for the levels that share their rights. */
function mappingRows(mapping: MappingConfig, context: RowsContext): readonly ExposureRow[] {
  const { id, where, leastLevel } = mapping;
  const accepted = mapping.acceptAllThree ?? null;
  const least = LEVELS.indexOf(leastLevel?.level ?? "unknown");
  const begun = LEVELS.slice(least);
  const kept = leastLevel?.below === "quarantine" ? LEVELS.slice(0, least) : [];
  const row = (levels: readonly Level[], isHeld: boolean): ExposureRow => {
    const action = actionOf(mapping, mapping.rights?.[levels[0]!], context);
    const weighed = weigh(action, context);
    const settled = isHeld ? heldFirst(weighed) : withReason(weighed, accepted);
    return { where, mappingId: id, levels, agentId: action.agentId, accepted, ...settled };
  };
  return [
    ...sameRights(mapping, kept).map((levels) => row(levels, true)),
    ...sameRights(mapping, begun).map((levels) => row(levels, false)),
  ];
}

function sameRights({ rights }: MappingConfig, levels: readonly Level[]): Level[][] {
  const groups = new Map<LevelRights | undefined, Level[]>();
  for (const level of levels) groups.set(rights?.[level], [...(groups.get(rights?.[level]) ?? []), level]);
  return [...groups.values()];
}

/** A person reads what is in quarantine before any model does. */
function heldFirst(weighed: Exposure): Exposure {
  return weighed.verdict === "refused" ? { ...weighed, human: "quarantine", verdict: "asked" } : weighed;
}

function withReason(weighed: Exposure, accepted: string | null): Exposure {
  return weighed.verdict === "refused" && accepted !== null ? { ...weighed, verdict: "accepted" } : weighed;
}

function actionOf(mapping: MappingConfig, rights: LevelRights | undefined, { agents }: RowsContext): ExposedAction {
  const { action, chat, permissions, tools, workspace, sessionMode } = mapping;
  const channel = rights?.channel ?? mapping.channel;
  const to = rights?.channel === undefined ? mapping.to : rights.to;
  const fallback = rights?.channel === undefined ? mapping.fallback : undefined;
  const delivers = action === "agent" && mapping.deliver && (rights?.deliver ?? true);
  const hasWorkspace = workspace !== undefined && rights?.workspace !== false;
  // The run that ends a wait of the mapping continues the conversation.
  const isPersistent = sessionMode === "persistent" || mapping.wait !== undefined;
  const extract = rights?.extract ?? mapping.extract;
  return {
    kind: chat === undefined ? action : "wake",
    agentId: agents.resolve(rights?.agentId ?? mapping.agentId).id,
    reads: readsOf(mapping, { extract, hasWorkspace, isPersistent }),
    permissions: rights?.permissions ?? permissions,
    tools: rights?.tools ?? tools,
    egress: rights?.egress,
    hasWorkspace,
    isPersistent,
    targets: delivers ? [{ channel, to }, ...(fallback ? [fallback] : [])] : [],
    answers: answersOf(mapping),
  };
}

/** Also an event of someone trusted holds what others wrote: a label is set on a stranger's issue. */
export function readsOf(
  { mode, chat, contentSource, preset }: MappingConfig,
  { extract, isPersistent, hasWorkspace }: ReadFacts,
): readonly string[] {
  if (mode === "deliver") return [];
  if (chat !== undefined) return ["the conversation, which holds reports of what hooks sent"];
  const events = preset === undefined ? "the payload" : `events of ${contentSource}`;
  if (extract === undefined) return [events];
  if (!isClosedForm(extract.form)) return [`strings that a model takes from ${events}`];
  return [...(isPersistent ? ["what its session has read before"] : []), ...(hasWorkspace ? ["its workspace"] : [])];
}

interface ReadFacts {
  readonly extract: ExtractSpec | undefined;
  readonly isPersistent: boolean;
  readonly hasWorkspace: boolean;
}

/** Whoever calls with the hook token is the owner's own; a sender is not. */
export function answersOf({ respond, auth }: MappingConfig): readonly string[] {
  return respond.kind === "result" && auth !== undefined
    ? ['the sender, which is answered with the reply ("respond")']
    : [];
}

/** A direct call as the plainest caller makes it; what else callers choose is weighed with each call. */
function directRows(
  {
    acceptAllThree,
    allowedAgentIds: allowed,
    requireAllowedAgent,
  }: Pick<HooksConfig, "acceptAllThree" | "allowedAgentIds" | "requireAllowedAgent">,
  context: RowsContext,
): readonly ExposureRow[] {
  const agentId = context.agents.resolve(undefined).id;
  const accepted = acceptAllThree ?? null;
  if (requireAllowedAgent && allowed?.has(agentId) === false) return [];
  return (["agent", "wake"] as const).map((route) => {
    const weighed = weigh({ kind: route, agentId, reads: ["what its callers send"] }, context);
    const settled = withReason(weighed, accepted);
    return { where: "hooks", mappingId: null, route, levels: LEVELS, agentId, accepted, ...settled };
  });
}

function subjectOf({ route, agentId, mappingId }: ExposureRow): string {
  return mappingId === null ? `a call of /${route ?? ""} for the agent ${agentId}` : `a run of the agent ${agentId}`;
}

function levelsText({ levels }: ExposureRow): string {
  return levels.length === LEVELS.length
    ? ""
    : ` at ${levels.length === 1 ? "the level" : "the levels"} ${levels.join(", ")}`;
}
