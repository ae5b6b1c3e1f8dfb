import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { reasonOf } from "../../src/core/reason-of.ts";
import { BotApiServer } from "./bot-api-server.ts";
import { eventually } from "./eventually.ts";
import { GatewayProcess, writeHostConfig } from "./gateway-process.ts";
import type { GatewayProcessOptions } from "./gateway-process.ts";
import { GATEWAY_TOKEN, hostConfig } from "./host-config.ts";
import { freePort } from "./in-process-host.ts";
import { homeEnvironment, openClawInstallation } from "./openclaw-installation.ts";
import { ScriptedModel } from "./scripted-model.ts";

/** The token of the hooks in these suites. */
export const HOOK_TOKEN = "the-hook-token-of-this-suite-24";

/** For each call one of its own: a host that was busy for seconds ends those that were idle, whatever waits on them. */
export const OWN_CONNECTION = { connection: "close" } as const;

/** A command of the host that takes longer hangs. */
const COMMAND_MS = 180_000;
/** Of the deliveries that a failure shows. */
const MAX_SHOWN = 5;

/** The installed package in the real gateway, with a model and a Bot API on loopback. */
export class RunningInstallation {
  readonly model: ScriptedModel;
  readonly botApi: BotApiServer;
  readonly #port: number;
  readonly home: string;
  #more: object | undefined;
  #gateway: GatewayProcess | undefined;

  /** With fresh deliveries and this block; `restart` starts the gateway. */
  static async prepare(block: object): Promise<RunningInstallation> {
    const { home } = openClawInstallation();
    rmSync(join(home, ".openclaw/reveille"), { recursive: true, force: true });
    const [model, botApi, port] = [await ScriptedModel.start(), await BotApiServer.start(), await freePort()];
    const running = new RunningInstallation({ model, botApi, port, home });
    running.configure(block);
    return running;
  }

  private constructor(parts: { model: ScriptedModel; botApi: BotApiServer; port: number; home: string }) {
    this.model = parts.model;
    this.botApi = parts.botApi;
    this.#port = parts.port;
    this.home = parts.home;
  }

  get gateway(): GatewayProcess {
    if (this.#gateway === undefined) throw new Error("The gateway is not running.");
    return this.#gateway;
  }

  /** Sections of the host's configuration beside the plugin's, from the next `configure` on. */
  withHostSections(more: object): void {
    this.#more = more;
  }

  /** Writes the host's configuration with another block, or with the plugin turned off. */
  configure(block: object, { enabled = true } = {}): void {
    const config = hostConfig({
      home: this.home,
      port: this.#port,
      modelUrl: this.model.url,
      botApiUrl: this.botApi.url,
      pluginId: "reveille",
      block,
      ...(this.#more === undefined ? {} : { more: this.#more }),
    }) as { plugins: { entries: { reveille: object } } };
    const { reveille } = config.plugins.entries;
    config.plugins.entries.reveille = { ...reveille, enabled };
    writeHostConfig(this.home, config);
  }

  writeTransform(name: string, source: string): void {
    const folder = join(this.home, ".openclaw/hooks/transforms");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), source);
  }

  /** Resolves once the plugin answers, or once `ready` does. */
  async restart({ ready, env }: Pick<GatewayProcessOptions, "ready" | "env"> = {}): Promise<void> {
    await this.#gateway?.stop();
    const spawned = (gateway: GatewayProcess): void => void (this.#gateway = gateway);
    await GatewayProcess.start({
      home: this.home,
      port: this.#port,
      spawned,
      ...(ready === undefined ? {} : { ready }),
      ...(env === undefined ? {} : { env }),
    });
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(this.gateway.url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${HOOK_TOKEN}`,
        "content-type": "application/json",
        ...OWN_CONNECTION,
        ...headers,
      },
      body: text,
    });
    return { status: response.status, text: await response.text() };
  }

  /** Begins a call whose body is not whole before `finish`, which resolves with the status of the answer. */
  async beginCall(path: string, body: object): Promise<{ finish(): Promise<number> }> {
    const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...OWN_CONNECTION };
    const call = request(this.gateway.url + path, { method: "POST", headers });
    const answered = once(call, "response") as Promise<[IncomingMessage]>;
    // It may fail before anything waits for it.
    answered.catch(() => {});
    const text = JSON.stringify(body);
    await new Promise<unknown>((resolve) => call.write(text.slice(0, -1), resolve));
    return {
      async finish() {
        call.end(text.slice(-1));
        const [{ statusCode = 0 }] = await answered;
        return statusCode;
      },
    };
  }

  /** What the operator's API answers to a GET. */
  async read<Content>(path: string): Promise<Content> {
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, ...OWN_CONNECTION };
    const response = await fetch(`${this.gateway.url}/plugins/reveille/api/v1${path}`, { headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`);
    return JSON.parse(text) as Content;
  }

  /** Waits for what calls lead to. The error of a failure has the deliveries that are not done and the end of the log. */
  async eventually(assertion: () => unknown): Promise<void> {
    await eventually(assertion, async () => ({
      calls: this.model.calls,
      log: this.gateway.log,
      more: await this.#openDeliveries().catch(reasonOf),
    }));
  }

  async #openDeliveries(): Promise<readonly object[]> {
    const { deliveries } = await this.read<{ deliveries: { id: string; state: string }[] }>("/deliveries?limit=100");
    const open = deliveries.filter(({ state }) => state !== "done").slice(0, MAX_SHOWN);
    return Promise.all(open.map(({ id }) => this.read<object>(`/deliveries/${id}`)));
  }

  /** Runs the host's own program in the gateway's home. */
  async openclaw(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
    const { openClaw } = openClawInstallation();
    const env = { PATH: process.env["PATH"], ...homeEnvironment(this.home) };
    const command = [join(openClaw, "openclaw.mjs"), ...args];
    const child = spawn(process.execPath, command, { env, stdio: "pipe", timeout: COMMAND_MS, killSignal: "SIGKILL" });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (out += String(chunk)));
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    if (code === null) throw new Error(`openclaw ${args.join(" ")} was ended by ${signal}:\n${out}`);
    return { code, out };
  }

  async stop(): Promise<void> {
    await this.#gateway?.kill();
    await this.model.stop();
    await this.botApi.stop();
  }
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}
