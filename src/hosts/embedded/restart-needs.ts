/** Which parts of a new configuration a running gateway cannot take into use. */
import type { GatewayConfig } from "./gateway-config.ts";

export interface ReloadPlan {
  /** The new configuration with everything that needs a restart as it is now. */
  readonly config: GatewayConfig;
  /** Keys that have changed and take effect at the next start. */
  readonly restartNeeded: readonly string[];
}

/** Compares the configuration in force with the next one. */
export function planReload(current: GatewayConfig, next: GatewayConfig): ReloadPlan {
  const restartNeeded: string[] = [];
  if (next.gateway.port !== current.gateway.port) restartNeeded.push("gateway.port");
  if (next.gateway.host !== current.gateway.host) restartNeeded.push("gateway.bind");
  const { port, host, loopbackOnly } = current.gateway;
  return {
    config: { ...next, gateway: { ...next.gateway, port, host, loopbackOnly } },
    restartNeeded,
  };
}
