/** Starts what is measured: each server a process of its own, pinned to the first core. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { prefill } from "./prefill.ts";
import { senders } from "./senders.ts";
import type { SenderName } from "./senders.ts";

export const HOOK_TOKEN = "bench-hook-token-0123456789abcdef";
const GATEWAY_TOKEN = "bench-gateway-token-0123456789abcdef";

export interface RunningServer {
  readonly port: number;
  readonly pid: number;
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
  return start([fileURLToPath(new URL("bare-server.ts", import.meta.url))]);
}

export function startPeer(): Promise<RunningServer> {
  return start([fileURLToPath(new URL("peer-server.ts", import.meta.url))]);
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
  readonly stateDir: string;
  /** Who has a mapping more, the same but for its `auth`. */
  readonly sender?: SenderName;
  /** How long the model takes for a turn; a second when absent, as a fast one does. */
  readonly turnMs?: number;
  /** Agent runs at once; 4 when absent. */
  readonly concurrency?: number;
}

/** A running gateway, and how many turns its model has been asked for. */
export interface RunningGateway extends RunningServer {
  turns(): number;
}

/** The gateway as `npm start` runs it, with that many mappings, on that state. */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-"));
  const model = await startModel(options.turnMs ?? 1_000);
  const config = join(folder, "reveille.json5");
  await writeFile(config, JSON.stringify(configuration(options, model.url)), { mode: 0o600 });
  const cli = fileURLToPath(new URL("../scripts/start.mjs", import.meta.url));
  const server = await start([cli, "serve", "--config", config, "--state-dir", options.stateDir, "--port", "0"]);
  return {
    ...server,
    turns: () => model.turns(),
    async stop() {
      await server.stop();
      model.stop();
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

function configuration({ mappings, sender, concurrency = 4 }: GatewayOptions, modelUrl: string): object {
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

/** A model that always has the same to say. */
async function startModel(turnMs: number): Promise<{ url: string; turns(): number; stop(): void }> {
  const chunk = { id: "c", object: "chat.completion.chunk", created: 0, model: "slow" };
  const delta = { ...chunk, choices: [{ index: 0, delta: { content: "HEARTBEAT_OK" }, finish_reason: "stop" }] };
  let turns = 0;
  const server = createServer((req, res) => {
    turns++;
    req.resume();
    setTimeout(() => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.end(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`);
    }, turnMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    turns: () => turns,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function start(args: readonly string[]): Promise<RunningServer> {
  const [command, commandArgs] = pinned(0, args);
  const child = spawn(command, commandArgs, {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, BENCH_TOKEN: HOOK_TOKEN },
  });
  const port = await readPort(child);
  return {
    port,
    pid: child.pid!,
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

function readPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port) resolve(Number(port));
    });
    child.once("exit", (code) => reject(new Error(`The server ended with ${code} before it listened.`)));
  });
}
