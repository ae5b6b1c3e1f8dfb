import type { Action, RunSpec } from "../../core/delivery.ts";
import { isRefusal, refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import { applyPolicy } from "../apply-policy.ts";
import type { ActionOrigin } from "../apply-policy.ts";
import type { IngressContext } from "../context.ts";
import type { Resolved, Route } from "./resolve.ts";

/** Fixes agent, session, model and target of every action, or refuses the whole request. */
export async function policy(
  ingress: Pick<IngressContext, "host">,
  generation: Pick<ActiveConfig, "config" | "hooks">,
  { route, context }: Pick<Resolved, "route" | "context">,
  actions: readonly Action[],
): Promise<readonly RunSpec[] | Refusal> {
  const origin = originOf(route, generation, actions.length);
  const runs: RunSpec[] = [];
  for (const action of actions) {
    const run = await applyPolicy(ingress.host, generation.config, action, origin);
    if (isRefusal(run)) return run;
    if (generation.hooks.policy.isUsed()) {
      const denial = await generation.hooks.policy.promise(run, context);
      if (denial) return refuse("DENIED", denial.deny);
    }
    runs.push(run);
  }
  return runs;
}

function originOf(route: Route, { config }: Pick<ActiveConfig, "config">, count: number): ActionOrigin {
  if (typeof route === "string") {
    return { contentSource: "Webhook", interrupted: config.interrupted, ownSessionPrefix: undefined };
  }
  return {
    contentSource: route.config.contentSource,
    interrupted: route.config.interrupted ?? config.interrupted,
    ownSessionPrefix: route.config.ownSessionPrefix,
    // What became several runs gathers nothing: each of them speaks for itself.
    coalesce: count === 1 ? route.config.coalesce?.mode : undefined,
  };
}
