/** Starts what is measured: each server a process of its own, pinned to the first core. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { prefill } from "./prefill.ts";
import { senders } from "./senders.ts";
import type { SenderName } from "./senders.ts";
import { freePort, type PostgresServer, startPostgres } from "./peers/postgres.ts";

export const HOOK_TOKEN = "bench-hook-token-0123456789abcdef";
export const GATEWAY_TOKEN = "bench-gateway-token-0123456789abcdef";

export interface RunningServer {
  readonly port: number;
  readonly pid: number;
  /** From the start of the process to its first line, which says that it listens. */
  readonly startSeconds: number;
  /** Resident memory in MiB. */
  memoryMiB(): Promise<number>;
  stop(): Promise<void>;
}

/** A command pinned to one core, where the system can pin. */
export function pinned(core: number, args: readonly string[]): [string, string[]] {
  if (process.platform !== "linux") return [process.execPath, [...args]];
  return ["taskset", ["--cpu-list", String(core), process.execPath, ...args]];
}

export function startBare(): Promise<RunningServer> {
  return start([scriptOf("bare-server.ts")]);
}

export function startCommitting(): Promise<RunningServer> {
  return start([scriptOf("committing-server.ts")]);
}

export function startFastify(): Promise<RunningServer> {
  return start([scriptOf("peers/fastify-server.ts")]);
}

/** On one core with its database, as the gateway is with its own; `undefined` where PostgreSQL is not installed. */
export async function startPgBoss(): Promise<RunningServer | undefined> {
  const database = await startPostgres();
  if (database === undefined) return undefined;
  const server = await startPgBossOn(database);
  return {
    ...server,
    async stop() {
      await server.stop();
      await database.stop();
    },
  };
}

export function startPgBossOn({ url }: PostgresServer): Promise<RunningServer> {
  return start([scriptOf("peers/pg-boss-server.ts")], { env: { DATABASE_URL: url } });
}

/** adnanh/webhook, which starts a program for each call; `undefined` where it is not installed. */
export async function startWebhook(): Promise<RunningServer | undefined> {
  if (spawnSync("webhook", ["-version"]).error) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-webhook-"));
  const hooks = join(folder, "hooks.json");
  const match = {
    type: "value",
    value: `Bearer ${HOOK_TOKEN}`,
    parameter: { source: "header", name: "Authorization" },
  };
  await writeFile(hooks, JSON.stringify([{ id: "wake", "execute-command": "/bin/true", "trigger-rule": { match } }]));
  const port = await freePort();
  const server = await start(["-hooks", hooks, "-ip", "127.0.0.1", "-port", String(port)], {
    program: "webhook",
    port,
  });
  return {
    ...server,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function scriptOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** State folders: a new one for an empty gateway, one that gateways share for many stored deliveries. */
export class StateFolders {
  readonly #made: Promise<string>[] = [];
  readonly #filled = new Map<number, Promise<string>>();

  with(stored: number): Promise<string> {
    const folder = this.#filled.get(stored) ?? fill(stored);
    this.#made.push(folder);
    // Filling takes minutes; what the gateways before have added is little beside it.
    if (stored > 0) this.#filled.set(stored, folder);
    return folder;
  }

  async remove(): Promise<void> {
    for (const folder of this.#made) await rm(await folder, { recursive: true, force: true });
  }
}

async function fill(stored: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-state-"));
  if (stored > 0) await prefill(folder, { settled: stored });
  return folder;
}

export interface GatewayOptions {
  readonly mappings: number;
  /** Enabled presets by name, each with its block. */
  readonly presets?: Readonly<Record<string, object>>;
  readonly stateDir: string;
  /** Who has a mapping more, the same but for its `auth`. */
  readonly sender?: SenderName;
  /** How long the model takes for a turn; a second when absent, as a fast one does. */
  readonly turnMs?: number;
  /** Agent runs at once; 4 when absent. */
  readonly concurrency?: number;
  /** Where its deliveries are; in SQLite when absent. */
  readonly databaseUrl?: string | undefined;
  /** `hooks.retention`. */
  readonly retention?: object;
  /** True: other gateways are on the database. */
  readonly several?: boolean;
  /** The first when absent. */
  readonly core?: number;
  /** Arguments of Node that start the program; as `npm start` does when absent. */
  readonly program?: readonly string[];
}

/** A running gateway, and how many turns its model has been asked for. */
/** Arguments of Node that start the program as `npm start` does. */
export const PROGRAM: readonly string[] = ["--max-semi-space-size=16", scriptOf("../scripts/start.mjs")];

export interface RunningGateway extends RunningServer {
  turns(): Promise<number>;
}

/** The gateway as `npm start` runs it, with that many mappings, on that state. */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-"));
  const model = await start([scriptOf("model-server.ts"), String(options.turnMs ?? 1_000)], { core: 1 });
  const modelUrl = `http://127.0.0.1:${model.port}`;
  const config = join(folder, "reveille.json5");
  await writeFile(config, JSON.stringify(configuration(options, `${modelUrl}/v1`)), { mode: 0o600 });
  const args = ["serve", "--config", config, "--state-dir", options.stateDir, "--port", "0"];
  const program = options.program ?? PROGRAM;
  const server = await start([...program, ...args], { core: options.core ?? 0 });
  return {
    ...server,
    turns: async () => Number(await (await fetch(`${modelUrl}/turns`)).text()),
    async stop() {
      await server.stop();
      await model.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The path of the last of `count` mappings. */
export function lastMappingPath(count: number): string {
  return `/hooks/sender-${count}`;
}

/** The path of the mapping of a sender. */
export function senderPath(sender: SenderName): string {
  return `/hooks/${sender}`;
}

function configuration(options: GatewayOptions, modelUrl: string): object {
  const { mappings, presets = {}, sender, concurrency = 4, databaseUrl, several = false, retention } = options;
  return {
    gateway: { bind: "loopback", auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 1 },
    agents: { defaults: { model: "bench/slow", heartbeat: { every: "0m" } } },
    models: { providers: { bench: { baseUrl: modelUrl } } },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      // The queue's bound is not what is measured.
      maxQueuedRuns: 10_000_000,
      concurrency,
      ...(databaseUrl !== undefined && { store: { url: databaseUrl, several } }),
      ...(retention !== undefined && { retention }),
      publicUrl: "https://gateway.example.com",
      presets: Object.keys(presets),
      ...presets,
      mappings: [
        ...Array.from({ length: mappings }, (_, index) => mapping(`sender-${index + 1}`, `Sender ${index + 1}`)),
        ...(sender ? [{ ...mapping(sender, "Sender 1"), auth: senders[sender].auth }] : []),
      ],
    },
  };
}

function mapping(path: string, name: string): object {
  return { match: { path }, name, messageTemplate: "Event {{event}} of {{user.name}}: {{text}}" };
}

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly core?: number;
  /** Another program than Node, and the port on which it listens, because it does not print one. */
  readonly program?: string;
  readonly port?: number;
}

async function start(args: readonly string[], options: StartOptions = {}): Promise<RunningServer> {
  const { env = {}, core = 0, program = process.execPath } = options;
  const command = process.platform === "linux" ? ["taskset", "--cpu-list", String(core), program] : [program];
  const began = performance.now();
  const child = spawn(command[0]!, [...command.slice(1), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, BENCH_TOKEN: HOOK_TOKEN, ...env },
  });
  const port = options.port === undefined ? await readPort(child) : await listening(options.port);
  return {
    port,
    pid: child.pid!,
    startSeconds: (performance.now() - began) / 1_000,
    async memoryMiB() {
      const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
    },
    stop() {
      const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      child.kill("SIGTERM");
      return exited;
    },
  };
}

/** The port, when something accepts connections on it. */
async function listening(port: number): Promise<number> {
  const giveUpAt = Date.now() + 10_000;
  const tryOnce = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  while (!(await tryOnce())) {
    if (Date.now() > giveUpAt) throw new Error(`Nothing listens on port ${port}.`);
    await sleep(50);
  }
  return port;
}

function readPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer): void => {
      text = (text + chunk.toString()).slice(-4_096);
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port) resolve(Number(port));
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => reject(new Error(`The server ended with ${code} before it listened:\n${text}`)));
  });
}
