import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { BotApiServer } from "../../test/openclaw/bot-api-server.ts";
import { GatewayProcess, writeHostConfig } from "../../test/openclaw/gateway-process.ts";
import { hostConfig } from "../../test/openclaw/host-config.ts";
import { freePort } from "../../test/openclaw/in-process-host.ts";
import { BARE_PATH, BARE_ROUTE, writeBareRoutePlugin } from "./bare-route-plugin.ts";
import { BenchModel } from "./bench-model.ts";
import { BUILT_IN, REVEILLE } from "./side.ts";
import type { Side } from "./side.ts";

/** The configuration of both ingresses besides their switch. */
export interface BenchConfig {
  /** Keys for both. */
  readonly both?: object;
  /** Keys for the built-in hooks. */
  readonly builtIn?: object;
  /** Keys for Reveille. */
  readonly reveille?: object;
  /** False when no one gets what a run says to no one in particular. */
  readonly hasRecipient?: boolean;
}

/** The host waits minutes for work that does not end; nothing is in progress when the benchmark stops it. */
const STOP_MS = 30_000;

export interface Answer {
  /** 0 when there was none. */
  readonly status: number;
  readonly ms: number;
}

interface HostConfig {
  readonly plugins: { readonly allow: string[]; readonly entries: Record<string, object> };
}

/** One gateway with both ingresses on, a model and a Bot API on loopback. */
export class BenchHost {
  readonly model: BenchModel;
  readonly botApi: BotApiServer;
  readonly port: number;
  readonly #home: string;
  #config: BenchConfig = {};
  #gateway: Promise<GatewayProcess> | undefined;
  #isStopped = false;

  /** Prepares everything but the gateway; `home` is that of a prepared installation. */
  static async open(home: string): Promise<BenchHost> {
    writeBareRoutePlugin(join(home, BARE_ROUTE));
    const [model, botApi, port] = [await BenchModel.start(), await BotApiServer.start(), await freePort()];
    return new BenchHost({ model, botApi, port, home });
  }

  private constructor(parts: { model: BenchModel; botApi: BotApiServer; port: number; home: string }) {
    this.model = parts.model;
    this.botApi = parts.botApi;
    this.port = parts.port;
    this.#home = parts.home;
  }

  /**
   * Stops the gateway as its owner would, if it runs, and starts it with this configuration; that of before
   * when absent. False when it did not stop in time and was killed.
   */
  async restart(config: BenchConfig = this.#config): Promise<boolean> {
    const before = await this.#gateway;
    const isClean =
      before === undefined || (await Promise.race([before.stop(), setTimeout(STOP_MS, "late")])) !== "late";
    if (!isClean) console.error(`The gateway did not stop within ${STOP_MS} ms:\n${before.log.slice(-2_000)}`);
    await before?.kill();
    this.#config = config;
    if (this.#isStopped) throw new Error("The benchmark was ended.");
    writeHostConfig(this.#home, this.#hostConfig());
    this.#gateway = GatewayProcess.start({ home: this.#home, port: this.port });
    try {
      await this.#gateway;
    } catch (error) {
      this.#gateway = undefined;
      throw error;
    }
    return isClean;
  }

  /** Ends the gateway at once, with everything that it has spawned. */
  async kill(): Promise<void> {
    const gateway = await this.#gateway;
    this.#gateway = undefined;
    await gateway?.kill();
  }

  /** Ends the gateway at once, and drops every call that Reveille has accepted. */
  async forget(): Promise<void> {
    await this.kill();
    rmSync(join(this.#home, ".openclaw/reveille"), { recursive: true, force: true, maxRetries: 5 });
  }

  /** Puts a module where both ingresses look for transforms. */
  writeTransform(name: string, source: string): void {
    const folder = join(this.#home, ".openclaw/hooks/transforms");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), source);
  }

  /** The number of the gateway's process. */
  async pid(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.port}${BARE_PATH}`);
    return Number(await response.text());
  }

  async post(side: Pick<Side, "prefix" | "token">, path: `/${string}`, body: object): Promise<Answer> {
    const begunAt = performance.now();
    try {
      const response = await fetch(`http://127.0.0.1:${this.port}${side.prefix}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${side.token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      await response.arrayBuffer();
      return { status: response.status, ms: performance.now() - begunAt };
    } catch {
      return { status: 0, ms: performance.now() - begunAt };
    }
  }

  /** Ends everything, also a gateway that is just starting. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.kill().catch(() => {});
    await this.model.stop();
    await this.botApi.stop();
  }

  #hostConfig(): object {
    const { both, builtIn, reveille, hasRecipient = true } = this.#config;
    const config = hostConfig({
      home: this.#home,
      port: this.port,
      modelUrl: this.model.url,
      botApiUrl: this.botApi.url,
      pluginId: "reveille",
      block: { enabled: true, token: REVEILLE.token, ...both, ...reveille },
      pluginPaths: [join(this.#home, BARE_ROUTE)],
      hasRecipient,
      more: { hooks: { enabled: true, token: BUILT_IN.token, ...both, ...builtIn } },
    }) as HostConfig;
    config.plugins.allow.push(BARE_ROUTE);
    config.plugins.entries[BARE_ROUTE] = { enabled: true };
    return config;
  }
}
