import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { writeFirstConfig } from "../../src/cli/init-command.ts";
import type { FirstTokens } from "../../src/cli/init-command.ts";
import { EmbeddedGateway } from "../../src/hosts/embedded/gateway.ts";
import { recordingLogger } from "../unit/hosts/embedded/server/recording-logger.ts";
import { PageHome } from "./page-home.ts";
import type { ShellResult } from "./page-home.ts";

/** Where pages say that a gateway is. */
const SHOWN_HOST = "127.0.0.1:18789";

/** A gateway in the state of its first start, beside the reader of a page. */
export class PageGateway {
  readonly home = new PageHome();
  readonly #first: object;
  #configured: unknown;
  readonly #tokens: FirstTokens;
  readonly #secrets: Readonly<Record<string, string>>;
  #logger = recordingLogger();
  #gateway: EmbeddedGateway | undefined;

  /** `secrets` are environment variables that the page's configurations and scripts use. */
  constructor(secrets: Readonly<Record<string, string>> = {}) {
    this.#secrets = secrets;
    this.#tokens = writeFirstConfig(this.home.configFile);
    this.#first = JSON5.parse<object>(readFileSync(this.home.configFile, "utf8"));
    this.#configured = this.#first;
  }

  async start(): Promise<void> {
    const { configDir, configFile } = this.home;
    this.#logger = recordingLogger();
    this.#gateway = await EmbeddedGateway.start({
      configFile,
      stateDir: join(configDir, "state"),
      port: 0,
      logger: this.#logger,
    });
    this.#write();
  }

  /**
   * Takes a block of configuration into use, laid over that of the first start; for plugins the gateway
   * is started again. Rejects with what it has against the block.
   */
  async configure(block: string): Promise<void> {
    const over = JSON5.parse<object>(block);
    this.#configured = overlay(this.#first, over);
    if (!this.#write()) return;
    if ("plugins" in over) {
      await this.#gateway!.stop();
      return await this.start();
    }
    const { applied } = await this.#gateway!.reload();
    if (!applied) throw new Error(JSON.stringify(this.#logger.lines.at(-1)));
  }

  /** Runs a script as the page has it, against this gateway and with its tokens. */
  async shell(script: string): Promise<ShellResult> {
    const { hookToken, gatewayToken } = this.#tokens;
    const env = { ...this.#secrets, HOOK_TOKEN: hookToken, GATEWAY_TOKEN: gatewayToken };
    const { host } = new URL(this.#gateway!.url);
    const result = await this.home.shell(script.replaceAll(SHOWN_HOST, host), env);
    return { ...result, out: result.out.replaceAll(host, SHOWN_HOST).replaceAll(this.home.home, "<home>") };
  }

  /** What was logged so far, for a test that fails. */
  log(): string {
    return this.#logger.lines.map((line) => JSON.stringify(line)).join("\n");
  }

  async stop(): Promise<void> {
    await this.#gateway?.stop();
    this.home.remove();
  }

  /** Writes the file, with the port by which commands find the gateway; false when it says so already. */
  #write(): boolean {
    const { port } = new URL(this.#gateway!.url);
    const text = JSON.stringify(overlay(this.#configured, { gateway: { port: Number(port) } }));
    if (text === readFileSync(this.home.configFile, "utf8")) return false;
    writeFileSync(this.home.configFile, text);
    return true;
  }
}

/** Lays one value over another: objects key by key, anything else in its place. */
function overlay(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = overlay(merged[key], value);
  return merged;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
