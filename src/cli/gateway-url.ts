import type { LoadedGeneration } from "./load-generation.ts";

/** Where a gateway with that configuration is reached from this machine: no slash at its end. */
export function gatewayUrl({ file }: Pick<LoadedGeneration, "file">): string {
  const { host, port } = file.config.gateway;
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
