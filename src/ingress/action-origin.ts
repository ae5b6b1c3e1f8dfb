/** Where an action comes from: what its route and the level of who acted say of the run. */
import type { Permissions } from "../core/agent-rights.ts";
import type { LevelRights } from "../config/mapping/rights.ts";
import type { Chain } from "../core/chain.ts";
import type { ExtractSpec } from "../core/extraction.ts";
import type { Action, Level } from "../core/delivery.ts";
import type { CoalesceMode } from "../core/run.ts";
import type { TextKind } from "../core/boundary/remove-hidden.ts";
import type { ActiveConfig } from "./active-config.ts";
import type { OwnName } from "../mapping/compile-mapping.ts";
import type { Route } from "./stages/resolve.ts";

/** The rights of a level come before what a mapping, its transform or a plugin chose. */
export function lowerAction(action: Action, { agentId, workspace, deliver, channel, to }: LevelRights): Action {
  if (action.kind === "wake") return action;
  const target = channel === undefined ? {} : { channel, to, fallback: undefined };
  return {
    ...action,
    ...(agentId === undefined ? {} : { agentId }),
    ...(workspace === false ? { workspace: undefined } : {}),
    ...(deliver === undefined ? {} : { deliver: action.deliver && deliver }),
    ...target,
  };
}

/** What a level leaves of what the route gives. */
export function lowerOrigin(origin: ActionOrigin, { permissions, tools, egress, extract }: LevelRights): ActionOrigin {
  return {
    ...origin,
    permissions: permissions ?? origin.permissions,
    tools: tools ?? origin.tools,
    egress,
    extract: extract ?? origin.extract,
  };
}

/** What the route says. */
export function originOf(
  route: Route,
  { config }: Pick<ActiveConfig, "config">,
  count: number,
  traceparent: string | undefined,
): ActionOrigin {
  if (typeof route === "string") {
    return {
      contentSource: "Webhook",
      textKind: undefined,
      instructions: config.agentInstructions,
      interrupted: config.interrupted,
      ownSessionPrefix: undefined,
      traceparent,
    };
  }
  return {
    contentSource: route.config.contentSource,
    textKind: route.preset?.text,
    instructions: route.config.instructions,
    interrupted: route.config.interrupted ?? config.interrupted,
    tools: route.config.tools,
    permissions: route.config.permissions,
    extract: route.config.extract,
    ownSessionPrefix: route.config.ownSessionPrefix,
    ownName: route.ownName,
    // A call that becomes several runs is never coalesced.
    coalesce: count === 1 ? route.config.coalesce?.mode : undefined,
    traceparent,
  };
}

/** The origin of an action. */
export interface ActionOrigin {
  /** The source that the boundary names: `Webhook`, `Email`. */
  readonly contentSource: string;
  /** Of the actor of the event. */
  readonly level?: Level | undefined;
  readonly chain?: Chain | undefined;
  /** What the preset's texts are; absent: not known. */
  readonly textKind?: TextKind | undefined;
  /** The owner's words to the agent. */
  readonly instructions?: string | undefined;
  readonly interrupted: "rerun" | "hold";
  /** `none`: the mapping's runs have no tools, whatever its transform says. */
  readonly tools?: "none" | undefined;
  /** What the mapping leaves of what the agent may do. */
  readonly permissions?: Permissions | undefined;
  /** What the level of who acted leaves of the hosts that the agent can reach. */
  readonly egress?: readonly string[] | undefined;
  /** What the run sees instead of what was rendered; absent: that itself. */
  readonly extract?: ExtractSpec | undefined;
  /** See {@link MappingConfig.ownSessionPrefix}. */
  readonly ownSessionPrefix: string | undefined;
  /** The name that the mapping's author wrote; absent: a template, or none. */
  readonly ownName?: OwnName | undefined;
  /** The way in which coalesced calls are rendered; absent: they are not coalesced. */
  readonly coalesce?: CoalesceMode | undefined;
  /** Of the caller, if it is well-formed. */
  readonly traceparent?: string | undefined;
}
