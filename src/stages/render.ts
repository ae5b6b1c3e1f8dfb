import type { Action, PayloadContext } from "../delivery.ts";
import { ERRORS, isRefusal, refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import type { CompiledMapping } from "../mapping/compile-mapping.ts";
import { completeAction } from "../mapping/complete-action.ts";
import { readAgentPayload, readWait, readWakePayload } from "../mapping/direct-action.ts";
import { fanOut } from "../mapping/fan-out.ts";
import { mergeOverride } from "../mapping/merge-override.ts";
import { renderAction } from "../mapping/render-action.ts";
import { transformContext } from "../transform/transform.ts";
import type { IngressContext } from "./ingress-context.ts";
import type { NewDelivery } from "../store/new-delivery.ts";
import type { Resolved, Route } from "./resolve.ts";

/** How a delivery ends that has no run. */
export type Ended = NonNullable<NewDelivery["ended"]>;

/** The actions of a request; when there are none, how its delivery ends. */
export interface Rendered {
  readonly actions: readonly Action[];
  readonly ended?: Ended;
  /** How long the caller wants to wait for the result. */
  readonly wait?: WantedWait;
}

/** A caller's wish to wait; without a time of its own, as long as the configuration says. */
export interface WantedWait {
  readonly waitMs: number | undefined;
}

/** Transforms and renders the payload into actions. */
export async function render(
  ingress: IngressContext,
  generation: Generation,
  { route, context, ofSender }: Pick<Resolved, "route" | "context" | "ofSender">,
): Promise<Rendered | Refusal> {
  const made = await renderRoute(ingress, generation, route, context);
  const rendered = ofSender && isRefusal(made) && UNFIT.has(made.refused) ? { actions: [], ended: unfit(made) } : made;
  if (isRefusal(rendered) || !ingress.hooks.actions.isUsed()) return rendered;
  const actions = await ingress.hooks.actions.promise(rendered.actions, context);
  if (actions.length > 0) return { actions, wait: rendered.wait };
  return { actions, ended: rendered.ended ?? skipped("a plugin left no action") };
}

function renderRoute(
  ingress: IngressContext,
  generation: Generation,
  route: Route,
  context: PayloadContext,
): Rendered | Refusal | Promise<Rendered | Refusal> {
  if (route === "wake") return single(readWakePayload(context.payload));
  if (route === "agent") return directAgent(context.payload);
  const items = fanOut(context, route.forEach, generation.config.maxFanOut);
  if (isRefusal(items)) return items;
  if (items.length === 0) return { actions: [], ended: skipped(`${route.forEach?.name} is empty`) };
  if (!route.transform && items.length === 1) return single(own(route, items[0]!));
  return renderItems(ingress, route, items);
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

function directAgent(payload: unknown): Rendered | Refusal {
  const action = readAgentPayload(payload);
  if (isRefusal(action)) return action;
  const wait = readWait(payload);
  return isRefusal(wait) ? wait : { actions: [action], wait };
}

function own(mapping: CompiledMapping, context: PayloadContext): Action | Refusal {
  return completeAction(renderAction(mapping, context), mapping.config.id);
}

async function renderItems(
  ingress: IngressContext,
  mapping: CompiledMapping,
  items: readonly PayloadContext[],
): Promise<Rendered | Refusal> {
  const actions: Action[] = [];
  for (const item of items) {
    const action = mapping.transform ? await transformed(ingress, mapping, item) : own(mapping, item);
    if (action === null) continue;
    if (isRefusal(action)) return action;
    actions.push(action);
  }
  return actions.length > 0 ? { actions } : { actions, ended: skipped("the transform returned null") };
}

/** `null` when the transform skips the item. */
async function transformed(
  ingress: IngressContext,
  mapping: CompiledMapping,
  context: PayloadContext,
): Promise<Action | Refusal | null> {
  const { id, transform } = mapping.config;
  const { logger } = ingress.host;
  try {
    const result: unknown = await mapping.transform?.(transformContext(context));
    if (result === null) return null;
    const merged = mergeOverride(renderAction(mapping, context), result);
    if (!isRefusal(merged)) return completeAction(merged, id);
    logger.error({ reason: merged.message, mapping: id, module: transform?.module }, "a transform failed");
    return merged;
  } catch (error) {
    logger.error({ err: error, mapping: id, module: transform?.module }, "a transform failed");
    return refuse("TRANSFORM_FAILED");
  }
}
