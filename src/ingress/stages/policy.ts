import { textRights } from "../../core/agent-rights.ts";
import type { HooksConfig } from "../../config/hooks.ts";
import { isKnownAgent } from "../../config/mapping/rules.ts";
import type { Action, AgentAction, WakeAction } from "../../core/delivery.ts";
import type { AgentSpec, ReplyTarget, RunSpec, WakeSpec } from "../../core/run.ts";
import { isRefusal, refuse, type Refusal } from "../../core/errors.ts";
import type { AgentCatalog, GatewayHost } from "../../core/host.ts";
import { removeHidden, type TextKind } from "../../core/boundary/remove-hidden.ts";
import { readTraceparent } from "../../core/traceparent.ts";
import { safeName } from "../../mapping/compile-mapping.ts";
import { chooseAgent } from "../../policy/agent.ts";
import { checkCallbackUrl } from "../../policy/callback-url.ts";
import { resolveTarget } from "../../policy/target.ts";
import { resolveSessionKey } from "../../policy/session-key.ts";
import { type ActionOrigin, lowerAction, lowerOrigin, originOf } from "../action-origin.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { deniedExposure } from "../exposed-actions.ts";
import type { Resolved } from "./resolve.ts";

/** Fixes agent, session, model and target of every action, or refuses the whole request. */
export function policy(
  ingress: Pick<IngressContext, "host">,
  active: Pick<ActiveConfig, "config" | "hooks">,
  { route, context }: Pick<Resolved, "route" | "context">,
  actions: readonly Action[],
): readonly RunSpec[] | Refusal | Promise<readonly RunSpec[] | Refusal> {
  const { traceparent } = context.headers;
  const ofRoute = originOf(route, active, actions.length, readTraceparent(traceparent) && traceparent);
  const origin = { ...ofRoute, level: context.actor?.level, chain: context.chain };
  const rights = typeof route === "string" ? undefined : route.config.rights?.[context.actor?.level ?? "unknown"];
  const lowered = rights ? actions.map((action) => lowerAction(action, rights)) : actions;
  const fixed = rights ? lowerOrigin(origin, rights) : origin;
  const denied = deniedExposure(ingress.host, active, { route, context }, { actions: lowered, origin: fixed });
  return denied ?? applyAll(ingress, active, { actions: lowered, origin: fixed, context });
}

/** Applies the policy to all actions of a call; the first refusal is that of the call. */
export function applyAll(
  ingress: Pick<IngressContext, "host">,
  active: Pick<ActiveConfig, "config" | "hooks">,
  call: { readonly actions: readonly Action[]; readonly origin: ActionOrigin } & Pick<Resolved, "context">,
): readonly RunSpec[] | Refusal | Promise<readonly RunSpec[] | Refusal> {
  const { actions, origin } = call;
  const [action] = actions;
  if (action === undefined || actions.length > 1 || active.hooks.policy.isUsed()) {
    return applyToAll(ingress, active, call);
  }
  const run = applyPolicy(ingress.host, active.config, action, origin);
  return run instanceof Promise ? run.then(alone) : alone(run);
}

function alone(run: RunSpec | Refusal): readonly RunSpec[] | Refusal {
  return isRefusal(run) ? run : [run];
}

async function applyToAll(
  ingress: Pick<IngressContext, "host">,
  active: Pick<ActiveConfig, "config" | "hooks">,
  { actions, origin, context }: { actions: readonly Action[]; origin: ActionOrigin } & Pick<Resolved, "context">,
): Promise<readonly RunSpec[] | Refusal> {
  const runs: RunSpec[] = [];
  for (const action of actions) {
    const run = await applyPolicy(ingress.host, active.config, action, origin);
    if (isRefusal(run)) return run;
    if (active.hooks.policy.isUsed()) {
      const denial = await active.hooks.policy.promise(run, context);
      if (denial) return refuse("DENIED", denial.deny);
    }
    runs.push(run);
  }
  return runs;
}

const MAX_TIMEOUT_SECONDS = 86_400;
const UNEXTRACTED = "A mapping with extract makes no wakes: their text would reach the main session as it is.";

/**
 * Turns an action into a run whose agent, session, model and target are fixed, or refuses it.
 *
 * Refuses every choice that a caller or a payload may not make, before anything is stored.
 */
export function applyPolicy(
  host: Pick<GatewayHost, "agents" | "channels" | "sessions">,
  config: HooksConfig,
  action: Action,
  origin: ActionOrigin,
): RunSpec | Refusal | Promise<RunSpec | Refusal> {
  const agentId = chooseAgent(host.agents, config, action.agentId);
  if (typeof agentId !== "string") return agentId;
  const own = action.name !== undefined && action.name === origin.ownName?.written ? origin.ownName : undefined;
  const name = own?.safe ?? safeName(action.name ?? "");
  const nameBy = action.name === undefined || own !== undefined ? ("owner" as const) : undefined;
  if (action.kind === "wake" && origin.extract) return refuse("INVALID_ACTION", UNEXTRACTED);
  if (action.kind === "wake") return wakeSpec(host, config, action, origin, { agentId, name, nameBy });
  const allowed = host.agents.allowedModels(agentId);
  if (action.model !== undefined && allowed && !allowed.includes(action.model)) {
    return refuse("MODEL_NOT_ALLOWED", `model ${modelRefusal(host.agents, action.model, allowed)}.`);
  }
  const sessionKey = resolveSessionKey(
    config,
    {
      key: action.sessionKey,
      source: action.sessionKeySource ?? "static",
      ownPrefix: origin.ownSessionPrefix,
    },
    agentId,
  );
  if (typeof sessionKey !== "string") return sessionKey;
  const { mode, callbackUrl } = action;
  const uncalled = callbackUrl === undefined ? undefined : checkCallbackUrl(callbackUrl, config.callbacks);
  if (uncalled) return uncalled;
  if (mode === "deliver" && !action.deliver) {
    return refuse("INVALID_PAYLOAD", 'mode "deliver" needs deliver to be true: there is nothing else to do.');
  }
  const spec = {
    kind: "agent",
    instructions: origin.instructions,
    ...seenText(action.message, origin.textKind),
    // A name from the payload would be read beside the form.
    ...(origin.extract && nameBy === undefined ? { name: origin.contentSource, nameBy: "owner" } : { name, nameBy }),
    agentId,
    sessionKey,
    wakeMode: action.wakeMode,
    model: action.model,
    thinking: action.thinking,
    level: origin.level,
    chain: origin.chain,
    tools: origin.tools,
    permissions: origin.permissions,
    egress: origin.egress,
    workspace: action.workspace,
    sessionMode: action.sessionMode === "persistent" ? action.sessionMode : undefined,
    timeoutMs: timeoutMs(config, action),
    interrupted: origin.interrupted,
    source: origin.contentSource,
    extract: origin.extract,
    unsafe: action.allowUnsafeExternalContent === true && origin.extract === undefined,
    delivery: undefined,
    fallback: undefined,
    mode,
    callbackUrl,
    coalesce: origin.coalesce,
    traceparent: origin.traceparent,
  } satisfies AgentSpec;
  return action.deliver ? withTargets(host, action, spec) : spec;
}

function withTargets(
  { channels }: Pick<GatewayHost, "channels">,
  { channel, to, fallback: other }: AgentAction,
  spec: UnsentSpec,
): AgentSpec | Refusal | Promise<AgentSpec | Refusal> {
  const { agentId } = spec;
  const delivery = resolveTarget(channels, { channel, to, agentId });
  const fallback = other && resolveTarget(channels, { channel: other.channel, to: other.to, agentId });
  return delivery instanceof Promise || fallback instanceof Promise
    ? Promise.all([delivery, fallback]).then((read) => withBoth(spec, ...read))
    : withBoth(spec, delivery, fallback);
}

/** An agent run whose targets are not fixed yet. */
type UnsentSpec = AgentSpec & { delivery: AgentSpec["delivery"]; fallback: AgentSpec["fallback"] };

/** Changes the spec, which has no other owner yet: a copy of its thirty fields costs a microsecond. */
function withBoth(
  spec: UnsentSpec,
  delivery: ReplyTarget | Refusal,
  fallback: ReplyTarget | Refusal | undefined,
): AgentSpec | Refusal {
  if (isRefusal(delivery)) return delivery;
  if (isRefusal(fallback)) return fallback;
  spec.delivery = delivery;
  spec.fallback = fallback;
  return spec;
}

/** An empty list allows no model; the host then knows what would. */
function modelRefusal(agents: AgentCatalog, model: string, allowed: readonly string[]): string {
  if (allowed.length > 0) return `must be one of ${allowed.join(", ")}`;
  return agents.modelProblem?.(model) ?? "cannot be chosen: leave it out";
}

function wakeSpec(
  { sessions, agents }: Pick<GatewayHost, "sessions" | "agents">,
  config: HooksConfig,
  action: WakeAction,
  origin: ActionOrigin,
  fixed: Pick<WakeSpec, "agentId" | "name" | "nameBy">,
): WakeSpec | Refusal {
  const { agentId, sessionKey: key, sessionKeySource: source = "static" } = action;
  // A wake for another agent is no news for the default one.
  if (agentId !== undefined && !isKnownAgent(agents, agentId)) {
    return refuse("AGENT_NOT_ALLOWED", "agentId names no agent of this gateway.");
  }
  const sessionKey =
    key === undefined
      ? sessions.mainSessionKey(fixed.agentId)
      : resolveSessionKey(config, { key, source }, fixed.agentId);
  if (typeof sessionKey !== "string") return sessionKey;
  return {
    kind: "wake",
    ...(action.owner === undefined ? seenWake(action.text, origin.textKind) : { text: action.text.trim() }),
    ...fixed,
    sessionKey,
    mode: action.mode,
    source: origin.contentSource,
    unsafe: action.allowUnsafeExternalContent === true,
    owner: action.owner,
    rights: action.owner === undefined ? textRights(origin) : undefined,
    coalesce: origin.coalesce,
  };
}

/** The text without what no one sees, and how much that was. */
function seenText(written: string, textKind: TextKind | undefined): Pick<AgentSpec, "message" | "textKind" | "hidden"> {
  const { text: message, counts } = removeHidden(written, textKind);
  // Whatever is taken out leaves another text.
  return { message, textKind, hidden: message === written ? undefined : counts };
}

function seenWake(written: string, kind: TextKind | undefined): Pick<WakeSpec, "text" | "textKind" | "hidden"> {
  const { message, ...seen } = seenText(written, kind);
  return { text: message.trim(), ...seen };
}

function timeoutMs(config: HooksConfig, action: AgentAction): number {
  const seconds = Math.min(action.timeoutSeconds ?? Infinity, MAX_TIMEOUT_SECONDS);
  return action.timeoutSeconds === undefined ? config.defaultTimeoutMs : Math.max(1, Math.floor(seconds * 1_000));
}
