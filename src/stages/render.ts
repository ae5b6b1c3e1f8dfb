import type { Action, PayloadContext } from "../delivery.ts";
import { isRefusal, refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import type { CompiledMapping } from "../mapping/compile-mapping.ts";
import { completeAction } from "../mapping/complete-action.ts";
import { readAgentPayload, readWakePayload } from "../mapping/direct-action.ts";
import { fanOut } from "../mapping/fan-out.ts";
import { mergeOverride } from "../mapping/merge-override.ts";
import { renderAction } from "../mapping/render-action.ts";
import { transformContext } from "../transform/transform.ts";
import type { IngressContext } from "./ingress-context.ts";
import type { Route } from "./resolve.ts";

/** The actions of a request; none when it is skipped, and then why. */
export interface Rendered {
  readonly actions: readonly Action[];
  readonly skipped?: string;
}

/** Transforms and renders the payload into actions. */
export async function render(
  ingress: IngressContext,
  generation: Generation,
  route: Route,
  context: PayloadContext,
): Promise<Rendered | Refusal> {
  const rendered = await renderRoute(ingress, generation, route, context);
  if (isRefusal(rendered) || !ingress.hooks.actions.isUsed()) return rendered;
  const actions = await ingress.hooks.actions.promise(rendered.actions, context);
  if (actions.length > 0) return { actions };
  return { actions, skipped: rendered.skipped ?? "a plugin left no action" };
}

function renderRoute(
  ingress: IngressContext,
  generation: Generation,
  route: Route,
  context: PayloadContext,
): Rendered | Refusal | Promise<Rendered | Refusal> {
  if (route === "wake") return single(readWakePayload(context.payload));
  if (route === "agent") return single(readAgentPayload(context.payload));
  const items = fanOut(context, route.config.forEach, generation.config.maxFanOut);
  if (isRefusal(items)) return items;
  if (items.length === 0) return { actions: [], skipped: `payload.${route.config.forEach} is empty` };
  if (!route.transform && items.length === 1) return single(own(route, items[0]!));
  return renderItems(ingress, route, items);
}

function single(action: Action | Refusal): Rendered | Refusal {
  return isRefusal(action) ? action : { actions: [action] };
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
  return actions.length > 0 ? { actions } : { actions, skipped: "the transform returned null" };
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
