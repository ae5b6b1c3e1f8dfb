import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedGateway } from "../../../../../src/hosts/embedded/gateway.ts";
import type { GatewayOptions } from "../../../../../src/hosts/embedded/gateway.ts";
import { recordingLogger } from "../server/recording-logger.ts";

export const gatewayToken = "gateway-token-of-these-tests";
export const hookToken = "hook-token-of-these-tests-here";

/** A configuration that every test can build on. */
export const baseConfig = {
  gateway: { port: 0, auth: { token: gatewayToken }, shutdownSeconds: 30 },
  agents: { defaults: { heartbeat: { every: "0m" } } },
  hooks: { enabled: true, token: hookToken },
};

/** A folder with a configuration, and the gateways that a test starts on it. */
export class GatewayFixture {
  readonly folder = mkdtempSync(join(tmpdir(), "reveille-gateway-"));
  readonly configFile = join(this.folder, "reveille.json5");
  readonly stateDir = join(this.folder, "state");
  readonly logger = recordingLogger();
  readonly #started: EmbeddedGateway[] = [];

  constructor(config: object | string = baseConfig) {
    this.write(config);
  }

  write(config: object | string): void {
    writeFileSync(this.configFile, typeof config === "string" ? config : JSON.stringify(config), { mode: 0o600 });
  }

  async start(options: Partial<GatewayOptions> = {}): Promise<EmbeddedGateway> {
    const { configFile, stateDir, logger } = this;
    const gateway = await EmbeddedGateway.start({ configFile, stateDir, logger, ...options });
    this.#started.push(gateway);
    return gateway;
  }

  async remove(): Promise<void> {
    for (const gateway of this.#started) await gateway.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What was logged at a level, each line with the issues it names. */
  logged(level: "info" | "warn" | "error"): string[] {
    const lines = this.logger.lines.filter((line) => line.level === level);
    return lines.map(({ message, fields }) =>
      [message, ...((fields.issues ?? fields.keys ?? []) as string[])].join("\n"),
    );
  }
}

/** Calls a hook with the hook token. */
export async function callHook(
  gateway: EmbeddedGateway,
  path: string,
  body: object,
  token = hookToken,
): Promise<Response> {
  return await fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Reads a path of the API with the gateway token. */
export async function readApi(gateway: EmbeddedGateway, path: string, token = gatewayToken): Promise<Response> {
  return await fetch(`${gateway.url}/api/v1/${path}`, { headers: { Authorization: `Bearer ${token}` } });
}
