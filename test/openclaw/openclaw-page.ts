import { execFile } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import JSON5 from "json5";
import { BotApiServer } from "./bot-api-server.ts";
import { GatewayProcess, writeHostConfig } from "./gateway-process.ts";
import { GATEWAY_TOKEN, hostConfig } from "./host-config.ts";
import { freePort } from "./in-process-host.ts";
import { homeEnvironment, openClawInstallation } from "./openclaw-installation.ts";
import { ScriptedModel } from "./scripted-model.ts";

/** The address that the page shows. */
const SHOWN = "127.0.0.1:18789";
/** What a page tells to type in a checkout: the package that came of it lies where the scripts run. */
const IN_A_CHECKOUT = "npm ci\nnpm pack\n";
const SCRIPT_MS = 180_000;
const RESTART = "openclaw gateway restart\n";

export interface ScriptResult {
  readonly code: number;
  readonly out: string;
}

/** Somebody's machine with OpenClaw, on which nothing of Reveille has been installed yet. */
export class OpenClawPage {
  readonly home = mkdtempSync(join(tmpdir(), "reveille-openclaw-page-"));
  readonly #model: ScriptedModel;
  readonly #botApi: BotApiServer;
  readonly #port: number;
  #gateway: GatewayProcess | undefined;

  static async open(): Promise<OpenClawPage> {
    return new OpenClawPage(await ScriptedModel.start(), await BotApiServer.start(), await freePort());
  }

  private constructor(model: ScriptedModel, botApi: BotApiServer, port: number) {
    this.#model = model;
    this.#botApi = botApi;
    this.#port = port;
    try {
      this.#furnish();
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  #furnish(): void {
    mkdirSync(join(this.home, "bin"));
    const { openClaw, home } = openClawInstallation();
    const program = `#!/bin/sh\nexec "${process.execPath}" "${join(openClaw, "openclaw.mjs")}" "$@"\n`;
    writeFileSync(join(this.home, "bin/openclaw"), program, { mode: 0o755 });
    const [archive] = globSync("*.tgz", { cwd: join(home, "../package") });
    if (archive === undefined) throw new Error("There is no packed package beside the home.");
    cpSync(join(home, "../package", archive), join(this.home, archive));
    const options = {
      home: this.home,
      port: this.#port,
      modelUrl: this.#model.url,
      botApiUrl: this.#botApi.url,
      pluginId: "reveille",
      block: undefined,
    };
    const { plugins: _, ...config } = hostConfig(options) as { readonly plugins: unknown };
    writeHostConfig(this.home, config);
  }

  /** Lays sections over the host's configuration. */
  configure(json5: string): void {
    writeHostConfig(this.home, { ...this.#written(), ...JSON5.parse<object>(json5) });
  }

  #written(): { readonly plugins?: { readonly entries?: { readonly reveille?: { readonly enabled?: boolean } } } } {
    return JSON.parse(readFileSync(join(this.home, ".openclaw/openclaw.json"), "utf8")) as object;
  }

  /** Does what a block of `sh` says. */
  async run(script: string): Promise<ScriptResult> {
    if (script === IN_A_CHECKOUT) return { code: 0, out: "" };
    if (script !== RESTART) return this.#shell(script.replaceAll(SHOWN, `127.0.0.1:${this.#port}`));
    await this.#gateway?.stop();
    const spawned = (gateway: GatewayProcess): void => void (this.#gateway = gateway);
    const { reveille } = this.#written().plugins?.entries ?? {};
    const isOff = reveille?.enabled === false;
    const ready = isOff ? { ready: (gateway: GatewayProcess) => gateway.waitForLog("[gateway] ready") } : {};
    await GatewayProcess.start({ home: this.home, port: this.#port, env: SECRETS, spawned, ...ready });
    return { code: 0, out: "" };
  }

  async close(): Promise<void> {
    await this.#gateway?.kill();
    await this.#model.stop();
    await this.#botApi.stop();
    this.#remove();
  }

  #remove(): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Standard output, with the names of the page in the place of this home's. */
  #shell(script: string): Promise<ScriptResult> {
    const path = [join(this.home, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
    // npm is told by it how to reach the registry.
    const env = { ...process.env, ...homeEnvironment(this.home), ...SECRETS, GATEWAY_TOKEN, PATH: path };
    return new Promise((resolve) => {
      const prelude = 'curl() { command curl --silent --show-error "$@"; }\n';
      execFile("sh", ["-c", prelude + script], { cwd: this.home, env, timeout: SCRIPT_MS }, (error, out) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, out: out.replaceAll(this.home, "<home>") });
      });
    });
  }
}

/** What the page's configurations take from the environment. */
const SECRETS = {
  HOOK_TOKEN: "the-hook-token-of-this-page-24",
  GITHUB_SECRET: "the-secret-of-github-on-this-page",
} as const;
