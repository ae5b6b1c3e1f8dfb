import type { ConfigSnapshot, GatewayFacts } from "../../../core/host.ts";
import { asPrefix, DEFAULT_PREFIX } from "../../../config/hook-prefix.ts";
import { agentCatalog } from "../agents.ts";
import { listChannels } from "../channels.ts";
import type { GatewayConfig } from "./file.ts";
import { knownSecrets } from "./known-secrets.ts";

export interface SnapshotOptions {
  readonly reason: ConfigSnapshot["reason"];
  /** Of the tool of `gateway.expose`. */
  readonly publicUrl: string | undefined;
}

/** The configuration as plugins see it, without the commit. */
export function snapshotOf(
  config: GatewayConfig,
  { reason, publicUrl }: SnapshotOptions,
): Omit<ConfigSnapshot, "onCommit"> {
  return {
    config: withPublicUrl(config.hooks, publicUrl),
    reason,
    gateway: gatewayFacts(config),
    agents: agentCatalog(config),
    channels: listChannels(config),
  };
}

/** A URL that is written goes before that of a tool; a blank one, as of an empty variable, is none. */
function withPublicUrl(hooks: unknown, publicUrl: string | undefined): unknown {
  if (publicUrl === undefined || typeof hooks !== "object" || hooks === null || Array.isArray(hooks)) return hooks;
  const written = (hooks as { readonly publicUrl?: unknown }).publicUrl;
  return typeof written === "string" && written.trim() === "" ? { ...hooks, publicUrl } : { publicUrl, ...hooks };
}

/** The prefix of the hooks. */
export function hooksPathOf({ hooks }: Pick<GatewayConfig, "hooks">): string {
  return asPrefix(textAt(hooks, "path") ?? DEFAULT_PREFIX);
}

/** The URL that is followed by the path of a hook; `undefined`: the configuration names none, and no tool gives one. */
export function hooksUrlOf(config: GatewayConfig, ofTool: string | null | undefined): string | undefined {
  const publicUrl = textAt(config.hooks, "publicUrl") ?? ofTool ?? undefined;
  return publicUrl === undefined ? undefined : `${publicUrl.replace(/\/+$/u, "")}${hooksPathOf(config)}`;
}

function textAt(block: unknown, key: "path" | "publicUrl"): string | undefined {
  if (typeof block !== "object" || block === null) return undefined;
  const value = (block as { readonly [key in "path" | "publicUrl"]?: unknown })[key];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function gatewayFacts(config: GatewayConfig): GatewayFacts {
  const { gateway, agents } = config;
  return {
    secrets: knownSecrets(config),
    loopbackOnly: gateway.loopbackOnly && gateway.expose === undefined,
    trustedProxies: gateway.trustedProxies,
    takesOwnerMessages: true,
    holdsSubscriptions: true,
    unrestrictedAgents: agents.list.flatMap(({ permissions, allowUntrusted }, at) =>
      permissions === "all" && allowUntrusted ? [`agents.list[${at}].permissions`] : [],
    ),
  };
}
