import type { OpenClawConfig } from "./sdk.ts";

const DEFAULT_PORT = 18_789;

/** Where the host of a configuration is reached from this machine: no slash at its end. */
export function localUrl(config: OpenClawConfig, env: Readonly<Record<string, string | undefined>>): string {
  const gateway = (config["gateway"] ?? {}) as { port?: unknown; tls?: { enabled?: unknown } };
  const port = Number(env["OPENCLAW_GATEWAY_PORT"]) || Number(gateway.port) || DEFAULT_PORT;
  return `${gateway.tls?.enabled === true ? "https" : "http"}://127.0.0.1:${port}`;
}
