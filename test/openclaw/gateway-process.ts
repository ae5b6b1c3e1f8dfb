import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homeEnvironment, openClawInstallation } from "./openclaw-installation.ts";

const MAX_STARTS = 3;

/** The real gateway as a process of its own, in a home that outlives it. */
export class GatewayProcess {
  readonly home: string;
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #log: () => string;

  /** Resolves once the plugin has told that it answers. */
  static async start(options: { home: string; port: number }): Promise<GatewayProcess> {
    for (let starts = 1; ; starts++) {
      const gateway = GatewayProcess.#spawn(options);
      try {
        await gateway.waitForLog("Reveille ");
        if (gateway.log.includes("Reveille could not start")) throw new Error(gateway.log.slice(-4_000));
        await gateway.waitForLog("Reveille answers at");
        return gateway;
      } catch (error) {
        await gateway.kill();
        // The host ends after it has migrated its state to a configuration that is new to it.
        if (starts === MAX_STARTS || !gateway.log.includes("Restart OpenClaw")) throw error;
      }
    }
  }

  static #spawn({ home, port }: { home: string; port: number }): GatewayProcess {
    const { openClaw } = openClawInstallation();
    const child = spawn(process.execPath, [join(openClaw, "openclaw.mjs"), "gateway", "run"], {
      env: { PATH: process.env["PATH"], ...homeEnvironment(home) },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (log += String(chunk)));
    return new GatewayProcess({ home, url: `http://127.0.0.1:${port}`, child, log: () => log });
  }

  private constructor(parts: { home: string; url: string; child: ChildProcess; log: () => string }) {
    this.home = parts.home;
    this.url = parts.url;
    this.#process = parts.child;
    this.#log = parts.log;
  }

  get log(): string {
    return this.#log();
  }

  /** Rejects when the process has ended before. */
  async waitForLog(text: string, from = 0): Promise<void> {
    while (!this.log.includes(text, from)) {
      if (this.#process.exitCode !== null || this.#process.signalCode !== null) {
        throw new Error(`The gateway ended before it logged ${JSON.stringify(text)}:\n${this.log.slice(-4_000)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends it at once, with everything that it has spawned. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = once(this.#process, "exit");
    process.kill(signal === "SIGKILL" ? -pid : pid, signal);
    await ended;
  }
}

/**
 * Writes the host's configuration in a home. What the host notes in it about itself stays: it takes a file
 * without those notes for a broken one, and puts the one before in its place.
 */
export function writeHostConfig(home: string, config: object): void {
  const folder = join(home, ".openclaw");
  const file = join(folder, "openclaw.json");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { meta?: unknown }) : {};
  writeFileSync(file, JSON.stringify({ ...config, ...(before.meta === undefined ? {} : { meta: before.meta }) }), {
    mode: 0o600,
  });
}
