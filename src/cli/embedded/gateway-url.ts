import type { GatewayConfig } from "../../hosts/embedded/gateway-config.ts";

/** Where a gateway with that configuration is reached from this machine: no slash at its end. */
export function gatewayUrl({ host, port }: Pick<GatewayConfig["gateway"], "host" | "port">): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
