import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryDetail, DeliverySummary } from "../../src/core/delivery.ts";
import type { State } from "../../src/core/run.ts";

export const HOOK_TOKEN = "hook-token-of-the-integration-tests";
const GATEWAY_TOKEN = "gateway-token-of-the-integration-tests";
const OPEN: ReadonlySet<State> = new Set(["queued", "running"]);
const bundled = join(import.meta.dirname, "../../scripts/start.mjs");
const sources = join(import.meta.dirname, "../../src/cli/main.ts");

export interface HookAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A gateway as `npm start` runs it: a process of its own, on a state directory that outlives it. */
export class GatewayProcess {
  readonly folder: string;
  readonly stateDir: string;
  readonly #configFile: string;
  #child: ChildProcess | undefined;
  log = "";
  url = "";

  /** `config` is laid over a minimal one; the state directory is in the folder unless it is named. */
  constructor(config: object = {}, options: { stateDir?: string } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "reveille-process-"));
    this.stateDir = options.stateDir ?? join(this.folder, "state");
    this.#configFile = join(this.folder, "reveille.json5");
    const minimal = {
      gateway: { auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 5 },
      agents: { defaults: { heartbeat: { every: "0m" } } },
      hooks: { enabled: true, token: HOOK_TOKEN },
    };
    writeFileSync(this.#configFile, JSON.stringify({ ...minimal, ...config }), { mode: 0o600 });
  }

  /**
   * Resolves when it listens. `env` is added to the variables of this process. With `nodeArgs`, which may preload a
   * module that changes those of the sources, it runs from the sources instead of the bundle.
   */
  async start({
    nodeArgs = [],
    env = {},
  }: { nodeArgs?: readonly string[]; env?: NodeJS.ProcessEnv } = {}): Promise<void> {
    const program = nodeArgs.length > 0 ? sources : bundled;
    const args = [
      ...nodeArgs,
      program,
      "serve",
      "--config",
      this.#configFile,
      "--state-dir",
      this.stateDir,
      "--port",
      "0",
    ];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => (this.log += chunk.toString()));
    this.url = await new Promise((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => resolve(chunk.toString().trim().split(" ").at(-1)!));
      child.once("exit", (code) => reject(new Error(`The gateway ended with ${code}: ${this.log}`)));
    });
  }

  /** Ends the process with a signal and waits until it is gone; gives its exit code. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
    const child = this.#child!;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.kill(signal);
    return exited;
  }

  /** Of the process that was started last. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Freezes the process, or lets it go on. */
  freeze(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  /** Resolves when the process that was started last has ended. */
  async ended(): Promise<void> {
    if (this.isRunning) await new Promise((resolve) => this.#child?.once("exit", resolve));
  }

  /** The exit code of the process that was started last; `null` while it runs, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  async close(): Promise<void> {
    if (this.#child) await this.end("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  async post(path: string, payload: unknown, headers: Readonly<Record<string, string>> = {}): Promise<HookAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(payload),
    });
    const text = await response.text();
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, body };
  }

  /** A `POST` has an empty object as its body, unless another is given. */
  async api<Result>(path: string, method: "GET" | "POST" | "DELETE" = "GET", body: object = {}): Promise<Result> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
      ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
    });
    return (await response.json()) as Result;
  }

  /** Says whom a main session talked to last. */
  async setRoute(session: string, target: { readonly channel: string; readonly to: string }): Promise<void> {
    const { ok, status } = await fetch(`${this.url}/api/v1/sessions/${session}/route`, {
      method: "PUT",
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(target),
    });
    if (!ok) throw new Error(`The route was answered ${status}.`);
  }

  /** Every delivery, newest first. */
  async deliveries(filter = ""): Promise<DeliverySummary[]> {
    const all: DeliverySummary[] = [];
    let cursor = "";
    do {
      const page = await this.api<{ deliveries: DeliverySummary[]; nextCursor: string | null }>(
        `/deliveries?limit=200${filter}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      all.push(...page.deliveries);
      cursor = page.nextCursor ?? "";
    } while (cursor !== "");
    return all;
  }

  delivery(id: string): Promise<DeliveryDetail> {
    return this.api(`/deliveries/${id}`);
  }

  /** Waits until no delivery is queued or in progress. */
  async settled(timeoutMs = 60_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const open = [...(await this.deliveries("&state=queued")), ...(await this.deliveries("&state=running"))];
      // What went back to the queue between the two questions was in neither answer.
      if (open.length === 0 && (await this.deliveries()).every(({ state }) => !OPEN.has(state))) return;
      if (Date.now() > deadline) throw new Error(`${open.length} deliveries are still open.`);
      await sleep(100);
    }
  }
}
