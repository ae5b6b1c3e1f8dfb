import type { ConfigSnapshot, GatewayFacts } from "../../../core/host.ts";
import { agentCatalog } from "../agents.ts";
import { listChannels } from "../channels.ts";
import type { GatewayConfig } from "./file.ts";

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

function gatewayFacts({ gateway, models, channels, agents }: GatewayConfig): GatewayFacts {
  const providers = [...models.providers.values()];
  const secrets = [
    ...gateway.authTokens,
    ...providers.flatMap(({ apiKey, headers }) => [apiKey, ...Object.values(headers)]),
    channels.webhook?.secret,
    ...Array.from(channels.own.values(), ({ secret }) => secret),
  ];
  return {
    secrets: secrets.filter((secret) => secret !== undefined),
    loopbackOnly: gateway.loopbackOnly,
    trustedProxies: gateway.trustedProxies,
    takesOwnerMessages: true,
    unrestrictedAgents: agents.list.flatMap(({ permissions, allowUntrusted }, at) =>
      permissions === "all" && allowUntrusted ? [`agents.list[${at}].permissions`] : [],
    ),
  };
}
