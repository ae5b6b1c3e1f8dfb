import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { homeEnvironment, openClawInstallation } from "./openclaw-installation.ts";

const MAX_STARTS = 3;
/** The host ends after it has migrated its state to a configuration, or when a busy machine held up a step of that. */
const START_AGAIN = /Restart OpenClaw|startup migrations did not complete cleanly/;
/** What a gateway has not done for this long it will not do; its start alone takes half a minute of a core. */
const MAX_WAIT_MS = 240_000;
/** How long is waited for the rest of its output once it has ended. */
const LAST_WORDS_MS = 10_000;
/** Of the log that an error shows. */
const SHOWN_CHARS = 4_000;

export interface GatewayProcessOptions {
  readonly home: string;
  readonly port: number;
  /** What its configuration takes from the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves once it can be used; when absent, once the plugin has told that it answers. */
  readonly ready?: (gateway: GatewayProcess) => Promise<void>;
  /** Is given each process before anything is awaited, so that it can be ended whatever comes of the start. */
  readonly spawned?: (gateway: GatewayProcess) => void;
}

/** The real gateway as a process of its own, in a home that outlives it. */
export class GatewayProcess {
  readonly home: string;
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #log: () => string;
  readonly #wholeLog: Promise<unknown>;
  /** True once it was told to end. */
  #isEnding = false;

  /** Resolves once it is ready; rejects when it has ended before. */
  static async start(options: GatewayProcessOptions): Promise<GatewayProcess> {
    const { home, ready = pluginAnswers, spawned } = options;
    for (let starts = 1; ; starts++) {
      forgetEarlierKills(home);
      const gateway = GatewayProcess.#spawn(options);
      spawned?.(gateway);
      try {
        await ready(gateway);
        return gateway;
      } catch (error) {
        const wasToldTo = gateway.#isEnding;
        await gateway.kill();
        // What it has said last may be read after its end; what it has spawned may hold its output for good.
        await Promise.race([gateway.#wholeLog, new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS))]);
        const isAgain = starts < MAX_STARTS && !wasToldTo && START_AGAIN.test(gateway.log);
        if (!isAgain) throw error;
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
    this.#wholeLog = new Promise((resolve) => parts.child.once("close", resolve));
    // A suite that is cut short leaves no gateway behind.
    const end = (): void => this.#signal("SIGKILL");
    process.once("exit", end);
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      // By default a signal ends a process without telling it of its exit.
      if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(1));
    }
    this.#process.once("exit", () => process.off("exit", end));
  }

  get log(): string {
    return this.#log();
  }

  /** Rejects with the end of the log when the process has ended before, and after four minutes. */
  async waitForLog(text: string, from = 0): Promise<void> {
    await this.until(() => this.log.includes(text, from), `the log says ${JSON.stringify(text)}`);
  }

  /** The same for anything that happens; `what` completes "until ...". */
  async until(happened: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const limit = performance.now() + MAX_WAIT_MS;
    while (!(await happened())) {
      if (this.#hasEnded || performance.now() > limit) {
        const why = this.#hasEnded ? "The gateway has ended" : `${MAX_WAIT_MS / 1_000} seconds have passed`;
        throw new Error(`${why}, while waiting until ${what}:\n${this.log.slice(-SHOWN_CHARS)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends it at once, with everything that it has spawned. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Rejects with the end of the log when it has not ended after four minutes: its own limit is longer. */
  async stop(): Promise<void> {
    const ended = this.#end("SIGTERM");
    const overdue = new AbortController();
    const late = sleep(MAX_WAIT_MS, "late", { signal: overdue.signal, ref: false }).catch(() => undefined);
    const isLate = (await Promise.race([ended, late])) === "late";
    overdue.abort();
    if (isLate) throw new Error(`The gateway does not end:\n${this.log.slice(-SHOWN_CHARS)}`);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isEnding = true;
    if (this.#process.pid === undefined || this.#hasEnded) return;
    const ended = once(this.#process, "exit");
    this.#signal(signal);
    await ended;
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** SIGKILL goes to everything that it has spawned as well. */
  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined || this.#hasEnded) return;
    try {
      process.kill(signal === "SIGKILL" ? -pid : pid, signal);
    } catch {
      // It has ended by itself in this moment.
    }
  }
}

/** The plugin tells under which address it answers, or why it does not. */
async function pluginAnswers(gateway: GatewayProcess): Promise<void> {
  await gateway.waitForLog("Reveille ");
  if (gateway.log.includes("Reveille could not start")) throw new Error(gateway.log.slice(-SHOWN_CHARS));
  await gateway.waitForLog("Reveille answers at");
}

/** The host starts no channel after three kills within minutes; those of these suites are meant. It keeps the last. */
function forgetEarlierKills(home: string): void {
  const file = join(home, ".openclaw/state/openclaw.sqlite");
  if (!existsSync(file)) return;
  const state = new DatabaseSync(file, { timeout: 10_000 });
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
  const text = JSON.stringify({ ...config, ...(before.meta === undefined ? {} : { meta: before.meta }) });
  // The host must not read one that is half written: it takes that for a broken one as well.
  writeFileSync(`${file}.next`, text, { mode: 0o600 });
  renameSync(`${file}.next`, file);
}
