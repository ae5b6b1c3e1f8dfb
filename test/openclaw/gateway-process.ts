import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { homeEnvironment, openClawInstallation } from "./openclaw-installation.ts";

const MAX_STARTS = 3;
/** A gateway that has not logged something for this long will not. */
const MAX_WAIT_MS = 120_000;
/** Of the log that an error shows. */
const SHOWN_CHARS = 4_000;

export interface GatewayProcessOptions {
  readonly home: string;
  readonly port: number;
  /** What its configuration takes from the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The real gateway as a process of its own, in a home that outlives it. */
export class GatewayProcess {
  readonly home: string;
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #log: () => string;

  /** Resolves once the plugin has told that it answers. */
  static async start(options: GatewayProcessOptions): Promise<GatewayProcess> {
    for (let starts = 1; ; starts++) {
      forgetEarlierKills(options.home);
      const gateway = GatewayProcess.#spawn(options);
      try {
        await gateway.waitForLog("Reveille ");
        if (gateway.log.includes("Reveille could not start")) throw new Error(gateway.log.slice(-SHOWN_CHARS));
        await gateway.waitForLog("Reveille answers at");
        return gateway;
      } catch (error) {
        await gateway.kill();
        // The host ends after it has migrated its state to a configuration that is new to it.
        if (starts === MAX_STARTS || !gateway.log.includes("Restart OpenClaw")) throw error;
      }
    }
  }

  static #spawn({ home, port, env }: GatewayProcessOptions): GatewayProcess {
    const { openClaw } = openClawInstallation();
    const child = spawn(process.execPath, [join(openClaw, "openclaw.mjs"), "gateway", "run"], {
      env: { PATH: process.env["PATH"], ...homeEnvironment(home), ...env },
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

  /** Rejects with the end of the log when the process has ended before, and after two minutes. */
  async waitForLog(text: string, from = 0): Promise<void> {
    const until = performance.now() + MAX_WAIT_MS;
    while (!this.log.includes(text, from)) {
      const hasEnded = this.#process.exitCode !== null || this.#process.signalCode !== null;
      if (hasEnded || performance.now() > until) {
        const what = hasEnded ? "ended before it logged" : "has not logged";
        throw new Error(`The gateway ${what} ${JSON.stringify(text)}:\n${this.log.slice(-SHOWN_CHARS)}`);
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

/** The host starts no channel after three kills within minutes; those of these suites are meant. It keeps the last. */
function forgetEarlierKills(home: string): void {
  const file = join(home, ".openclaw/state/openclaw.sqlite");
  if (!existsSync(file)) return;
  const state = new DatabaseSync(file);
  const table = "gateway_boot_lifecycle";
  if (state.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined) {
    state.exec(`DELETE FROM ${table} WHERE started_at_ms < (SELECT max(started_at_ms) FROM ${table})`);
  }
  state.close();
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
