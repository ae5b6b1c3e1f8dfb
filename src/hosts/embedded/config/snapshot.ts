import type { ConfigSnapshot, GatewayFacts } from "../../../core/host.ts";
import { agentCatalog } from "../agents.ts";
import { listChannels } from "../channels.ts";
import type { GatewayConfig } from "./file.ts";
import { knownSecrets } from "./known-secrets.ts";

/** The configuration as plugins see it, without the commit. */
export function snapshotOf(config: GatewayConfig, reason: ConfigSnapshot["reason"]): Omit<ConfigSnapshot, "onCommit"> {
  return {
    config: config.hooks,
    reason,
    gateway: gatewayFacts(config),
    agents: agentCatalog(config),
    channels: listChannels(config),
  };
}

function gatewayFacts(config: GatewayConfig): GatewayFacts {
  const { gateway, agents } = config;
  return {
    secrets: knownSecrets(config),
    loopbackOnly: gateway.loopbackOnly,
    trustedProxies: gateway.trustedProxies,
    takesOwnerMessages: true,
    unrestrictedAgents: agents.list.flatMap(({ permissions, allowUntrusted }, at) =>
      permissions === "all" && allowUntrusted ? [`agents.list[${at}].permissions`] : [],
    ),
  };
}
