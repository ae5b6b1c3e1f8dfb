/**
 * Measures the delivery store alone: rows a second, latency, and processor time per accepted delivery on the
 * main thread and on the others. `node bench/store.ts` runs every case in a process of its own, pinned with
 * taskset where there is one; `node bench/store.ts run [key=value ...]` measures one case in this process.
 * `store=postgres` measures the store in PostgreSQL, on a server of its own that shares the cores.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import pino from "pino";
import type { DeliveryStore } from "../src/storage/delivery-store.ts";
import { PostgresDeliveryStore } from "../src/storage/postgres/delivery-store.ts";
import { migrate } from "../src/storage/postgres/migrate.ts";
import { SqliteDatabase } from "../src/storage/sqlite/engine/database.ts";
import type { NewDelivery } from "../src/storage/new-delivery.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../src/storage/sqlite/delivery-store.ts";
import { startPostgres } from "./peers/postgres.ts";

interface Case {
  readonly count: number;
  readonly inFlight: number;
  readonly bodyBytes: number;
  /** Each delivery has an idempotency key of its own. */
  readonly claims: boolean;
  /** Each delivery is carried out too: loaded, begun, ended, one step, settled. */
  readonly dispatch: boolean;
  readonly store: "sqlite" | "postgres";
}

const standard: Case = {
  count: 200_000,
  inFlight: 64,
  bodyBytes: 1024,
  claims: false,
  dispatch: false,
  store: "sqlite",
};

const cases: readonly (Partial<Case> & { readonly cores: string })[] = [
  { cores: "0", inFlight: 1, count: 8000 },
  { cores: "0", inFlight: 16 },
  { cores: "0" },
  { cores: "0", inFlight: 256 },
  { cores: "0,1" },
  { cores: "0,1", inFlight: 256 },
  { cores: "0", claims: true },
  { cores: "0,1", claims: true },
  { cores: "0", dispatch: true, count: 50_000 },
  { cores: "0,1", dispatch: true, count: 50_000 },
  { cores: "0,1", store: "postgres", inFlight: 16, count: 20_000 },
  { cores: "0,1", store: "postgres", count: 50_000 },
  { cores: "0,1", store: "postgres", inFlight: 256, count: 50_000 },
  { cores: "0,1", store: "postgres", dispatch: true, count: 10_000 },
];

function parseCase(assignments: readonly string[]): Case {
  const given = Object.fromEntries(assignments.map((text) => text.split("=")));
  return {
    count: Number(given["count"] ?? standard.count),
    inFlight: Number(given["inFlight"] ?? standard.inFlight),
    bodyBytes: Number(given["bodyBytes"] ?? standard.bodyBytes),
    claims: given["claims"] === "true",
    dispatch: given["dispatch"] === "true",
    store: given["store"] === "postgres" ? "postgres" : "sqlite",
  };
}

function deliveryOf(index: number, options: Case, body: Uint8Array, message: string): NewDelivery {
  const key = Buffer.alloc(32);
  if (options.claims) for (let at = 0; at < 32; at += 4) key.writeInt32LE((Math.random() * 2 ** 31) | 0, at);
  return {
    receivedAt: Date.now(),
    route: "github",
    mappingId: "github-push",
    name: "GitHub",
    headers: Object.assign(Object.create(null), {
      host: "gateway.example.com",
      "user-agent": "GitHub-Hookshot/044aadd",
      "content-type": "application/json",
      "content-length": String(options.bodyBytes),
      accept: "*/*",
      "x-github-event": "push",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-forwarded-for": "192.0.2.1",
    }),
    query: Object.create(null),
    body,
    runs: [
      {
        lane: `agent:main:hook:${index % 500}`,
        spec: {
          kind: "agent",
          message,
          name: "GitHub",
          agentId: "main",
          sessionKey: `agent:main:hook:${index % 500}`,
          wakeMode: "now",
          timeoutMs: 60_000,
          interrupted: "rerun",
          source: "Webhook",
          unsafe: false,
        },
      },
    ],
    ...(options.claims && { idempotency: { key, fingerprint: key, expiresAt: Date.now() + 86_400_000 } }),
  };
}

/** JSON of a realistic mix of words, quotes and numbers. */
function payloadOf(bytes: number): string {
  const commit = {
    id: "9f1c2d3e4f5a6b7c8d9e",
    message: "Fix the retry of a webhook whose sender went away",
    added: 12,
  };
  const commits = Array.from({ length: Math.ceil(bytes / 100) }, () => commit);
  return JSON.stringify({ ref: "refs/heads/main", commits }).slice(0, bytes);
}

interface OpenedStore {
  readonly store: DeliveryStore;
  /** Closes it; what is left on the disk. */
  close(): Promise<readonly string[]>;
}

async function openSqlite(count: number): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), "store-bench-"));
  const file = join(folder, "bench.db");
  const database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule] });
  const store = SqliteDeliveryStore.open(database);
  return {
    store,
    async close() {
      const logMegabytes = statSync(`${file}-wal`).size / 2 ** 20;
      await store.close();
      await database.close();
      const bytesPerRow = statSync(file).size / count;
      rmSync(folder, { recursive: true });
      return [`${bytesPerRow.toFixed(0)} B/row`, `log ${logMegabytes.toFixed(0)} MB`];
    },
  };
}

async function openPostgres(): Promise<OpenedStore> {
  const server = await startPostgres();
  if (server === undefined) throw new Error("PostgreSQL is not installed: run apt-get install postgresql.");
  await migrate(server.url);
  const store = await PostgresDeliveryStore.open({ url: server.url, logger: pino({ level: "silent" }) });
  return {
    store,
    async close() {
      await store.close();
      await server.stop();
      return [];
    },
  };
}

async function measure(options: Case): Promise<string> {
  const opened = options.store === "postgres" ? await openPostgres() : await openSqlite(options.count);
  const { store } = opened;
  const body = Buffer.from(payloadOf(options.bodyBytes));
  const message = body.toString();
  const latencies = new Float64Array(options.count);
  let next = 0;
  let done = 0;

  const one = async () => {
    while (next < options.count) {
      const delivery = deliveryOf(next++, options, body, message);
      const start = performance.now();
      const outcome = await store.accept(delivery);
      latencies[done++] = performance.now() - start;
      if (options.dispatch && outcome.kind === "accepted") await carryOut(store, outcome.runIds[0]!);
    }
  };
  const start = performance.now();
  const process0 = process.cpuUsage();
  const main0 = process.threadCpuUsage();
  await Promise.all(Array.from({ length: options.inFlight }, one));
  const main = process.threadCpuUsage(main0);
  const all = process.cpuUsage(process0);
  const seconds = (performance.now() - start) / 1000;
  const megabytes = process.memoryUsage.rss() / 2 ** 20;
  const onDisk = await opened.close();

  latencies.sort();
  const perRow = (microseconds: number) => (microseconds / options.count).toFixed(1);
  return [
    `${Math.round(options.count / seconds)}/s`,
    `p50 ${latencies[Math.floor(options.count * 0.5)]!.toFixed(2)} ms`,
    `p99 ${latencies[Math.floor(options.count * 0.99)]!.toFixed(2)} ms`,
    `max ${latencies[options.count - 1]!.toFixed(0)} ms`,
    `main ${perRow(main.user)}+${perRow(main.system)} us`,
    `others ${perRow(all.user - main.user)}+${perRow(all.system - main.system)} us`,
    ...onDisk,
    `rss ${megabytes.toFixed(0)} MB`,
  ].join("  ");
}

async function carryOut(store: DeliveryStore, runId: string): Promise<void> {
  await store.loadRun(runId);
  await store.beginAttempt(runId, { number: 1, startedAt: Date.now() });
  await store.endAttempt(runId, { endedAt: Date.now(), status: "ok", error: null, reply: "Done." });
  await store.recordStep(runId, "summarized");
  await store.settle(runId, { state: "done", reason: null });
}

if (process.argv[2] === "run") {
  process.stdout.write(`${await measure(parseCase(process.argv.slice(3)))}\n`);
} else {
  for (const { cores, ...options } of cases) {
    const assignments = Object.entries(options).map(([key, value]) => `${key}=${value}`);
    const command = [process.execPath, import.meta.filename, "run", ...assignments];
    const pinned = spawnSync("taskset", ["-c", cores, ...command], { encoding: "utf8" });
    const { stdout, stderr } =
      pinned.error === undefined ? pinned : spawnSync(command[0]!, command.slice(1), { encoding: "utf8" });
    process.stdout.write(`cores ${cores} ${assignments.join(" ") || "standard"}: ${stdout.trim() || stderr}\n`);
  }
}
