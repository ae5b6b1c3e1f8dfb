/** The Rule of Two for what is known only with a call: the choices of callers, transforms and plugins. */
import { answersOf, readsOf } from "../config/mapping/exposures.ts";
import { type ExposedAction, weigh } from "../config/rule-of-two.ts";
import type { Action } from "../core/delivery.ts";
import type { ExtractSpec } from "../core/extraction.ts";
import { refuse, type Refusal } from "../core/errors.ts";
import type { GatewayHost } from "../core/host.ts";
import type { ActiveConfig } from "./active-config.ts";
import { quarantineReason } from "./quarantine.ts";
import type { Resolved, Route } from "./stages/resolve.ts";

/** What the mapping and the level leave of the agent's rights. */
type Left = Pick<ExposedAction, "permissions" | "tools" | "egress"> & { readonly extract?: ExtractSpec | undefined };

/**
 * Refuses a call, one of whose actions would have all three; what a mapping alone says was weighed at load, and the
 * agent of a session that it resumes (`isResumed`) was not.
 */
export function deniedExposure(
  { agents, channels }: Pick<GatewayHost, "agents" | "channels">,
  active: Pick<ActiveConfig, "config" | "hooks">,
  { route, context }: Pick<Resolved, "route" | "context">,
  call: { readonly actions: readonly Action[]; readonly origin: Left; readonly isResumed?: boolean },
): Refusal | undefined {
  const { actions, origin } = call;
  const isOwn = typeof route !== "string" && call.isResumed !== true;
  const isWeighed = isOwn && route.transform === undefined && !active.hooks.actions.isUsed();
  const { acceptAllThree } = typeof route === "string" ? active.config : route.config;
  if (isWeighed || acceptAllThree !== undefined || quarantineReason({ route, context }) !== undefined) return undefined;
  for (const action of actions) {
    const exposed = exposedBy(action, route, origin);
    const agentId = agents.resolve(action.agentId).id;
    if (weigh({ ...exposed, agentId }, { agents, channels: channels.list() }).verdict !== "refused") continue;
    return refuse(
      "DENIED",
      `A run of the agent ${agentId} with these choices would read what others wrote, reach private data and act outward; its owner allows that by acceptAllThree alone.`,
    );
  }
  return undefined;
}

function exposedBy(action: Action, route: Route, origin: Left): Omit<ExposedAction, "agentId"> {
  const ofMapping = typeof route === "string" ? undefined : route.config;
  if (action.kind === "wake") return { kind: "wake", reads: ["the text of the call"] };
  const { mode, deliver, channel, to, fallback, callbackUrl, workspace, sessionMode } = action;
  const facts = {
    extract: origin.extract,
    hasWorkspace: workspace !== undefined,
    isPersistent: sessionMode === "persistent" || ofMapping?.wait !== undefined,
  };
  return {
    kind: "agent",
    reads: mode === "deliver" ? [] : ofMapping ? readsOf(ofMapping, facts) : ["the message of the call"],
    permissions: origin.permissions,
    tools: origin.tools,
    egress: origin.egress,
    hasWorkspace: facts.hasWorkspace,
    isPersistent: facts.isPersistent,
    targets: deliver ? [{ channel, to }, ...(fallback ? [fallback] : [])] : [],
    answers: [...(ofMapping ? answersOf(ofMapping) : []), ...(callbackUrl === undefined ? [] : ["callbackUrl"])],
  };
}
