import type { HooksConfig } from "../../config/hooks.ts";
import { showValue } from "../../config/show-value.ts";
import type { Action, EventObject, PayloadContext } from "../../core/delivery.ts";
import type { Measurements } from "../../core/measurements.ts";
import { ERRORS, isRefusal, refuse, type Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { CompiledMapping } from "../../mapping/compile-mapping.ts";
import { completeAction, renderAction } from "../../mapping/render-action.ts";
import { readAgentPayload, readWait, readWakePayload } from "../../mapping/direct-action.ts";
import { fanOut } from "../../mapping/fan-out.ts";
import { transformActions } from "../../mapping/transform-actions.ts";
import { readChat } from "../../presets/read-event.ts";
import { type CallTransform, TransformError, type TransformCall } from "../../transform/call.ts";
import type { IngressContext } from "../context.ts";
import type { NewDelivery } from "../../storage/new-delivery.ts";
import type { Resolved } from "./resolve.ts";
import type { VerifiedRequest } from "./verify.ts";

/** The end of a delivery that has no run. */
export type Ended = NonNullable<NewDelivery["ended"]>;

/** The actions of a request; when there are none, the end of its delivery. */
export interface Rendered {
  readonly actions: readonly Action[];
  readonly ended?: Ended;
  /** The caller's answer once the ended delivery is on disk; absent: the usual one. */
  readonly failure?: Refusal;
  /** What the event approves, once its delivery is on disk. */
  readonly approval?: EventObject;
  /** The caller's wish to wait for the result. */
  readonly wait?: WantedWait;
}

/** A caller's wish to wait; without a time of its own, as long as the configuration says. */
export interface WantedWait {
  readonly waitMs: number | undefined;
}

/** Transforms and renders the payload into actions. */
export function render(
  ingress: Pick<IngressContext, "host" | "measurements">,
  active: Pick<ActiveConfig, "config" | "hooks">,
  request: Pick<VerifiedRequest, "method" | "body">,
  resolved: Pick<Resolved, "route" | "context" | "bodyPayload" | "ofSender" | "deliveryId">,
): Rendered | Refusal | Promise<Rendered | Refusal> {
  const made = renderRoute(ingress, active, request, resolved);
  return made instanceof Promise
    ? made.then((later) => changeActions(active, resolved, later))
    : changeActions(active, resolved, made);
}

/** A sender's payload that does not fit is no refusal, and taps may change what was rendered. */
function changeActions(
  { hooks: { actions: changed } }: Pick<ActiveConfig, "hooks">,
  { context, ofSender }: Pick<Resolved, "context" | "ofSender">,
  made: Rendered | Refusal,
): Rendered | Refusal | Promise<Rendered | Refusal> {
  const rendered = ofSender && isRefusal(made) && UNFIT.has(made.refused) ? { actions: [], ended: unfit(made) } : made;
  if (isRefusal(rendered) || rendered.failure || !changed.isUsed()) return rendered;
  return changed.promise(rendered.actions, context).then((actions) => {
    if (actions.length > 0) return { actions, wait: rendered.wait };
    return { actions, ended: rendered.ended ?? skipped("a plugin left no action") };
  });
}

function renderRoute(
  ingress: Pick<IngressContext, "host" | "measurements">,
  { config }: Pick<ActiveConfig, "config">,
  { method, body: rawBody }: Pick<VerifiedRequest, "method" | "body">,
  { route, context, bodyPayload, deliveryId }: Pick<Resolved, "route" | "context" | "bodyPayload" | "deliveryId">,
): Rendered | Refusal | Promise<Rendered | Refusal> {
  if (route === "wake") return single(readWakePayload(context.payload));
  if (route === "agent") return directAgent(context.payload);
  if (route.config.chat) return ownersMessage(ingress, route, context);
  const items = fanOut(context, route.forEach, config.maxFanOut);
  // A payload without the array has nothing for the mapping, and a sender may give up on a hook that answers 4xx.
  if (isRefusal(items)) return UNFIT.has(items.refused) ? { actions: [], ended: unfit(items) } : items;
  if (items.length === 0) return { actions: [], ended: skipped(`${route.forEach?.name} is empty`) };
  if (!route.transform && items.length === 1) return single(own(route, items[0]!));
  const call = { method, rawBody, bodyPayload, basePath: config.path, deliveryId };
  return renderItems(ingress, route, { items, call, config }).catch((error: unknown) => failed(ingress, route, error));
}

function timed(transform: CallTransform, mappingId: string, { transformSeconds }: Measurements): CallTransform {
  return async (call) => {
    const startMs = performance.now();
    try {
      return await transform(call);
    } finally {
      transformSeconds.observe((performance.now() - startMs) / 1_000, mappingId);
    }
  };
}

/** Of what the mapping can make nothing: no fault of the sender, who may give up on a hook that answers 4xx. */
const UNFIT: ReadonlySet<Refusal["refused"]> = new Set(["INVALID_ACTION", "INVALID_PAYLOAD"]);

function unfit({ refused, message }: Refusal): Ended {
  return skipped(message ?? ERRORS[refused].message);
}

function skipped(reason: string): Ended {
  return { state: "skipped", reason };
}

function single(action: Action | Refusal): Rendered | Refusal {
  return isRefusal(action) ? action : { actions: [action] };
}

/** The message of a private chat with one of the owner's accounts; nothing else of the sender reaches the session. */
function ownersMessage(
  { host }: Pick<IngressContext, "host">,
  route: CompiledMapping,
  context: PayloadContext,
): Rendered {
  const { config, preset } = route;
  const { from, channel } = config.chat!;
  const message = preset && readChat(preset, context, config.settings);
  if (message === undefined) return { actions: [], ended: skipped("it is no message of a private chat") };
  if (!from.has(message.from)) {
    return { actions: [], ended: skipped(`chat.from does not have ${showValue(message.from)}`) };
  }
  const { text, to } = message;
  const { agentId } = config;
  const name = route.name.render(context).trim();
  // As a mapping may write it, case does not count; a channel is known by its id alone.
  const known = host.channels.list().find(({ id }) => id.toLowerCase() === channel.toLowerCase());
  const owner = { channel: known?.id ?? channel, to };
  return { actions: [{ kind: "wake", text, mode: "now", name, agentId, owner }] };
}

function directAgent(payload: unknown): Rendered | Refusal {
  const action = readAgentPayload(payload);
  if (isRefusal(action)) return action;
  const wait = readWait(payload);
  return isRefusal(wait) ? wait : { actions: [action], wait };
}

function own(mapping: CompiledMapping, context: PayloadContext): Action | Refusal {
  return completeAction(renderAction(mapping, context), mapping.config.id);
}

interface Items {
  readonly items: readonly PayloadContext[];
  readonly call: Omit<TransformCall, "context">;
  readonly config: Pick<HooksConfig, "maxFanOut" | "transforms">;
}

async function renderItems(
  { measurements }: Pick<IngressContext, "measurements">,
  mapping: CompiledMapping,
  { items, call, config: { maxFanOut, transforms } }: Items,
): Promise<Rendered | Refusal> {
  const transform = mapping.transform && timed(mapping.transform, mapping.config.id, measurements);
  const endMs = performance.now() + ALL_ITEMS * transforms.timeoutMs;
  const actions: Action[] = [];
  for (const context of items) {
    if (transform && performance.now() > endMs) throw new TransformError("failed", TOO_LONG);
    const made = transform
      ? await transformActions(mapping, transform, { ...call, context }, { maxActions: maxFanOut })
      : own(mapping, context);
    if (isRefusal(made)) return made;
    if ("kind" in made) actions.push(made);
    else actions.push(...made);
    if (actions.length > maxFanOut) throw new TransformError("failed", tooMany(maxFanOut));
  }
  return actions.length > 0 ? { actions } : { actions, ended: skipped("the transform returned null") };
}

/** Times the limit of one call: what the items of one request may take together. */
const ALL_ITEMS = 10;
const tooMany = (maxFanOut: number): string =>
  `returned more than ${maxFanOut} actions for the items of one call; hooks.maxFanOut allows no more`;
const TOO_LONG = `took longer than ${ALL_ITEMS} times hooks.transforms.timeoutMs for the items of one call`;

/** A transform that was never begun has cost nothing; any other failure is recorded, so that it can be replayed. */
function failed(
  { host: { logger } }: Pick<IngressContext, "host">,
  { config }: CompiledMapping,
  error: unknown,
): Rendered | Refusal {
  if (!(error instanceof TransformError)) throw error;
  if (error.kind === "busy") return refuse("BUSY", BUSY, { retryAfterSeconds: BUSY_SECONDS });
  const module = config.transform?.module ?? config.id;
  // The module's own words follow the first colon, where retention can cut them off.
  const reason = `The transform ${module.replaceAll(":", "_")} failed: it ${error.message}.`;
  logger.error({ mapping: config.id, module, reason }, "a transform failed");
  return { actions: [], ended: { state: "failed", reason }, failure: refuse("TRANSFORM_FAILED") };
}

const BUSY = "The transforms of this gateway are busy; try again shortly.";
const BUSY_SECONDS = 2;
