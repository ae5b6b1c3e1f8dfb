import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BotApiServer } from "./bot-api-server.ts";
import { DRIVER, WAITING, writeDriverPackage } from "./driver-package.ts";
import type { Driver } from "./driver-package.ts";
import { writeHostConfig } from "./gateway-process.ts";
import { hostConfig } from "./host-config.ts";
import { ModelProxy } from "./model-proxy.ts";
import { homeEnvironment, loadStartServer, openClawInstallation } from "./openclaw-installation.ts";
import type { InProcessServer } from "./openclaw-installation.ts";

/** Blocks of the configuration by the names of those that read them. */
type Blocks = Readonly<Record<string, unknown>>;

const MAX_WAIT_MS = 240_000;

/** The real gateway in this process: one for a whole suite, since it keeps its state folder for good. */
export class InProcessHost {
  readonly home: string;
  readonly port: number;
  readonly proxy: ModelProxy;
  readonly botApi: BotApiServer;
  readonly driver: Driver;
  readonly #server: InProcessServer;
  #blocks: Blocks = {};

  static async start(modelUrl: string): Promise<InProcessHost> {
    const { openClaw, plugin } = openClawInstallation();
    const home = mkdtempSync(join(tmpdir(), "reveille-openclaw-"));
    writeDriverPackage(join(home, "driver"), plugin);
    const proxy = await ModelProxy.start(modelUrl);
    const botApi = await BotApiServer.start();
    const port = await freePort();
    writeConfig({ home, port, proxy, botApi }, {});
    Object.assign(process.env, homeEnvironment(home));
    const driver = Promise.withResolvers<Driver>();
    Object.assign(globalThis, { [WAITING]: driver.resolve });
    const startServer = await loadStartServer(openClaw);
    const server = await startServer(port);
    return new InProcessHost({ home, port, proxy, botApi, server, driver: await driver.promise });
  }

  private constructor(parts: {
    home: string;
    port: number;
    proxy: ModelProxy;
    botApi: BotApiServer;
    server: InProcessServer;
    driver: Driver;
  }) {
    this.home = parts.home;
    this.port = parts.port;
    this.proxy = parts.proxy;
    this.botApi = parts.botApi;
    this.driver = parts.driver;
    this.#server = parts.server;
  }

  /** Writes a block into the host's configuration and waits until the gateway has it. */
  async configure(name: string, block: unknown): Promise<void> {
    const { [name]: _, ...others } = this.#blocks;
    this.#blocks = block === undefined ? others : { ...others, [name]: block };
    writeConfig(this, this.#blocks);
    await until(() => isDeepStrictEqual(this.driver.block(), this.#blocks), "the gateway has the configuration");
  }

  async stop(): Promise<void> {
    await this.#server.close({ reason: "the suite is over" });
    await this.proxy.stop();
    await this.botApi.stop();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function writeConfig(
  host: Pick<InProcessHost, "home" | "port" | "proxy" | "botApi">,
  block: Readonly<Record<string, unknown>>,
): void {
  const { home, port, proxy, botApi } = host;
  const config = hostConfig({
    home,
    port,
    modelUrl: proxy.url,
    botApiUrl: botApi.url,
    pluginId: DRIVER,
    block,
    pluginPaths: [join(home, "driver")],
  });
  writeHostConfig(home, config);
}

/** Waits for something that the gateway in this process does; rejects after four minutes. `what` completes "until ...". */
export async function until(happened: () => boolean, what: string): Promise<void> {
  const limit = performance.now() + MAX_WAIT_MS;
  while (!happened()) {
    if (performance.now() > limit) {
      throw new Error(`${MAX_WAIT_MS / 1_000} seconds have passed, while waiting until ${what}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A port that nobody had a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
