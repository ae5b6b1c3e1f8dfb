/** The run that resumes a session: what it reads, and what those whose texts it carries leave of its rights. */
import { leastRights } from "../../core/agent-rights.ts";
import { partOfText } from "../../core/boundary/remove-hidden.ts";
import type { Action, PayloadContext } from "../../core/delivery.ts";
import { isRefusal, refuse, type Refusal } from "../../core/errors.ts";
import { lowerLevel } from "../../core/level.ts";
import { clip } from "../../core/payload-text.ts";
import type { RunSpec } from "../../core/run.ts";
import { readTraceparent } from "../../core/traceparent.ts";
import type { SeenEvent, Wait } from "../../core/wait.ts";
import { type CompiledMapping, ownNameOf } from "../../mapping/compile-mapping.ts";
import { type ActionOrigin, lowerOrigin, originOf } from "../action-origin.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { deniedExposure } from "../exposed-actions.ts";
import { applyAll } from "../stages/policy.ts";

type Host = Pick<IngressContext, "host">;
type Active = Pick<ActiveConfig, "config" | "hooks">;

const NAME = "Wait";
const OWN_NAME = ownNameOf(NAME);
const RESUMED =
  "A wait of this session has ended, and so the session is resumed. What it waited for, and what came, is the content below.";
/** Of the text of one event of several. */
const MAX_SEEN_CHARS = 4_000;

/** An event that counts for a wait. */
export interface WaitedEvent {
  readonly route: CompiledMapping;
  readonly context: PayloadContext;
}

/** The rights of a run that carries the event's text besides what the wait has gathered. */
export function originOfEvent({ config }: Active, { route, context }: WaitedEvent, wait: Wait): ActionOrigin | Refusal {
  const { traceparent } = context.headers;
  const level = lowerLevel(context.actor?.level ?? "unknown", wait.level);
  const ofRoute = originOf(route, { config }, 1, readTraceparent(traceparent) && traceparent);
  const rights = route.config.rights?.[level];
  if (rights?.agentId !== undefined && rights.agentId !== wait.agentId) {
    return refuse("DENIED", `Events at the level ${level} go to the agent ${rights.agentId} alone.`);
  }
  const lowered = rights === undefined ? ofRoute : lowerOrigin(ofRoute, rights);
  return {
    ...lowered,
    ...leastRights(lowered, wait.rights),
    level,
    chain: context.chain,
    instructions: RESUMED,
    ownSessionPrefix: undefined,
    ownName: OWN_NAME,
    coalesce: undefined,
  };
}

/** What the mapping shows of its events. */
export function textOfEvent({ route, context }: WaitedEvent): string {
  const text = route.content.render(context).trim();
  return text === "" ? `The event ${JSON.stringify(clip(context.event ?? route.config.id, 200))} came.` : text;
}

/** The run that an event begins in the session. */
export async function resumeByEvent(
  ingress: Host,
  active: Active,
  event: WaitedEvent,
  { wait, seen, origin }: { readonly wait: Wait; readonly seen: readonly SeenEvent[]; readonly origin: ActionOrigin },
): Promise<RunSpec | Refusal> {
  const action = actionOf(ingress, wait, textOfWait(wait, seen));
  const of = mayReply(event, origin) ? wait : withoutReply(wait);
  const denied = deniedExposure(ingress.host, active, event, { actions: [action], origin, isResumed: true });
  return denied ?? (await resumed(ingress, active, { wait: of, action, origin, context: event.context }));
}

/** False where the level of who acted leaves its runs no reply, or another place for it than the session's. */
export function mayReply({ route }: WaitedEvent, { level = "unknown" }: Pick<ActionOrigin, "level">): boolean {
  const rights = route.config.rights?.[level];
  return rights?.deliver !== false && rights?.channel === undefined;
}

export function withoutReply(wait: Wait): Wait {
  return { ...wait, delivery: undefined, fallback: undefined };
}

/** The run that begins in the session without a call; `outcome` is a sentence of the gateway. */
export function resumeByTime(
  ingress: Host,
  active: Active,
  { wait, outcome, at }: { readonly wait: Wait; readonly outcome: string; readonly at: number },
): Promise<RunSpec | Refusal> {
  const action = actionOf(ingress, wait, `${outcome}\n\n${textOfWait(wait, wait.seen)}`);
  const origin: ActionOrigin = {
    contentSource: NAME,
    ...wait.rights,
    level: wait.level,
    instructions: RESUMED,
    interrupted: active.config.interrupted,
    ownSessionPrefix: undefined,
    ownName: OWN_NAME,
  };
  const context = { path: WAIT_ROUTE, headers: {}, query: {}, payload: { wait: wait.id }, now: new Date(at) };
  return resumed(ingress, active, { wait, action, origin, context });
}

/** The route of a delivery that no call has made. */
export const WAIT_ROUTE = "wait";

async function resumed(
  ingress: Host,
  active: Active,
  call: {
    readonly wait: Wait;
    readonly action: Action;
    readonly origin: ActionOrigin;
    readonly context: PayloadContext;
  },
): Promise<RunSpec | Refusal> {
  const { wait, action, origin, context } = call;
  const specs = await applyAll(ingress, active, { actions: [action], origin, context });
  if (isRefusal(specs)) return specs;
  const [spec] = specs;
  if (spec?.kind !== "agent") return spec ?? refuse("INVALID_ACTION");
  const { id: resumes, sessionKey, delivery, fallback } = wait;
  return { ...spec, resumes, sessionKey, ...(delivery && { delivery }), ...(fallback && { fallback }) };
}

/** A main session is woken; in any other a run continues the conversation. */
function actionOf({ host }: Host, { agentId, sessionKey }: Wait, text: string): Action {
  if (host.sessions.mainSessionKey(agentId) === sessionKey) {
    return { kind: "wake", text, mode: "now", name: NAME, agentId };
  }
  return {
    kind: "agent",
    message: text,
    name: NAME,
    agentId,
    wakeMode: "next-heartbeat",
    deliver: false,
    channel: "last",
    sessionMode: "persistent",
  };
}

/** All of it stands inside the boundary: the note is an agent's, and the rest came from outside. */
function textOfWait({ id, note }: Wait, seen: readonly SeenEvent[]): string {
  const waited = note === "" ? id : `${id}: ${note}`;
  const events = seen.map(({ at, hook, event, text }) => {
    const name = event === null ? hook : `${hook} ${event}`;
    return `${new Date(at).toISOString()} ${name}\n${text}`;
  });
  return [`Waited for (${waited})`, ...events].join("\n\n");
}

/** The event as the wait keeps it; where a mapping gives its runs a form alone, its text is not kept. */
export function keptText(event: WaitedEvent, { extract, textKind }: ActionOrigin): string {
  return extract === undefined ? partOfText(clip(textOfEvent(event), MAX_SEEN_CHARS), textKind) : "";
}
