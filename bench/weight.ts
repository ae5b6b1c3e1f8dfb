/** What a gateway weighs: memory, start, bytes on disk, runs carried out; the first table of the report. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { BUILT_IN_PRESETS } from "../src/presets/built-in.ts";
import { makePresetKeys } from "../src/testing/preset-probe.ts";
import type { Timing } from "./calls.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { prefill } from "./prefill.ts";
import { refuseFailures, runLoad } from "./run-load.ts";
import { HOOK_TOKEN, lastMappingPath, startGateway } from "./servers.ts";
import type { GatewayOptions, RunningGateway } from "./servers.ts";

/** Of the row of the history. */
export interface WeightFigures {
  readonly idleMiB: number;
  readonly startSeconds: number;
  readonly bytesPerDelivery: number;
  readonly runsPerSecond: number;
}

const SETTLE_MS = 3_000;
/** After a quiet minute the gateway gives memory back; one begins within a minute. */
const QUIET_MS = 125_000;
const PRESETS = 50;
/** Agent runs at once, on a model that answers at once: what is measured is the gateway. */
const CONCURRENCY = 16;

export async function reportWeight(
  timing: Timing,
  { stored, queued }: { readonly stored: number; readonly queued: number },
): Promise<{ text: string; figures: WeightFigures }> {
  const idle = await eachRound(timing, () => measureIdle({ mappings: 1 }));
  const presets = await eachRound(timing, () => measureIdle({ mappings: 0, presets: withSecrets() }));
  const full = await withStore({ settled: stored }, (stateDir) =>
    eachRound(timing, () => measureIdle({ mappings: 1, stateDir })),
  );
  const queue = await measureQueue(timing, queued);
  const startAlone = (name: string): number => median(Array.from({ length: timing.rounds * 3 }, () => startOf(name)));
  const help = startAlone("--help");
  const version = startAlone("--version");
  const rows = [
    ["idle, 1 mapping: memory", mib(idle.memory)],
    [`idle, ${Object.keys(withSecrets()).length} presets: memory`, mib(presets.memory)],
    [`idle, ${count(stored)} deliveries stored: memory`, mib(full.memory)],
    [`${count(queued)} runs queued by calls: memory right after the last call`, mib(queue.busyMiB)],
    ["two minutes later", mib(queue.memoryMiB)],
    ["of that, for each 10,000 queued", mib(((queue.memoryMiB - queue.beforeMiB) / queued) * 10_000)],
    ["CPU of one of these calls: main thread, writer, V8 helpers, other", cpuCells(queue.cpu)],
    ["bytes on disk for a delivery of 1 KiB that waits", count(queue.bytesPerDelivery)],
    ["runs carried out a second, 16 at once, a model that answers at once", count(queue.runsPerSecond)],
    ["ready: from the command to the line that says it listens", `${idle.start.toFixed(2)} s`],
    [`ready, ${count(stored)} stored`, `${full.start.toFixed(2)} s`],
    ["`reveille --help`", `${help.toFixed(2)} s`],
    ["`reveille --version`", `${version.toFixed(2)} s`],
  ];
  const text = `## What a gateway weighs

Memory is what Linux counts as resident, ${SETTLE_MS / 1_000} s after the start or after the last call; two minutes without a call later, the gateway has given back what a burst took. The gateway is pinned to one core.

| what | |
|---|---|
${rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}
`;
  const figures = {
    idleMiB: idle.memory,
    startSeconds: idle.start,
    bytesPerDelivery: queue.bytesPerDelivery,
    runsPerSecond: queue.runsPerSecond,
  };
  return { text, figures };
}

interface Idle {
  readonly memory: number;
  readonly start: number;
}

async function eachRound({ rounds }: Timing, measure: () => Promise<Idle>): Promise<Idle> {
  const all: Idle[] = [];
  for (let round = 0; round < rounds; round++) all.push(await measure());
  return { memory: median(all.map(({ memory }) => memory)), start: median(all.map(({ start }) => start)) };
}

async function measureIdle(options: Omit<GatewayOptions, "stateDir"> & { stateDir?: string }): Promise<Idle> {
  const measure = (stateDir: string): Promise<Idle> =>
    withGateway({ ...options, stateDir }, async (gateway) => {
      await sleep(SETTLE_MS);
      return { memory: await gateway.memoryMiB(), start: gateway.startSeconds };
    });
  return options.stateDir === undefined ? withStore({ settled: 0 }, measure) : measure(options.stateDir);
}

/** A queue as calls make it, on a model that does not answer; then the same runs on one that answers at once. */
async function measureQueue(timing: Timing, queued: number) {
  return withStore({ settled: 0 }, async (stateDir) => {
    const calls = await withGateway({ mappings: 1, stateDir, turnMs: 3_600_000 }, async (gateway) => {
      await sleep(SETTLE_MS);
      const beforeMiB = await gateway.memoryMiB();
      const before = await bytesIn(stateDir);
      const result = await runLoad({
        port: gateway.port,
        pid: gateway.pid,
        path: lastMappingPath(1),
        headers: { authorization: `Bearer ${HOOK_TOKEN}` },
        body: { distinct: queued },
        connections: timing.connections,
        warmupMs: 0,
        durationMs: 600_000,
      });
      refuseFailures("the queue", result);
      await sleep(SETTLE_MS);
      const busyMiB = await gateway.memoryMiB();
      await sleep(QUIET_MS);
      return { beforeMiB, busyMiB, memoryMiB: await gateway.memoryMiB(), before, cpu: result.cpu };
    });
    // The log is emptied into the file when the gateway ends.
    const bytesPerDelivery = ((await bytesIn(stateDir)) - calls.before) / queued;
    const options = { mappings: 1, stateDir, turnMs: 0, concurrency: CONCURRENCY };
    const runsPerSecond = await withGateway(options, async (gateway) => {
      await sleep(timing.firstWarmupMs);
      const turns = await gateway.turns();
      await sleep(timing.durationMs);
      return ((await gateway.turns()) - turns) / (timing.durationMs / 1_000);
    });
    return { ...calls, bytesPerDelivery, runsPerSecond };
  });
}

async function withGateway<Result>(
  options: GatewayOptions,
  measure: (gateway: RunningGateway) => Promise<Result>,
): Promise<Result> {
  const gateway = await startGateway(options);
  try {
    return await measure(gateway);
  } finally {
    await gateway.stop();
  }
}

async function withStore<Result>(
  stored: { readonly settled: number },
  measure: (stateDir: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-weight-"));
  try {
    if (stored.settled > 0) await prefill(folder, stored);
    return await measure(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Seconds of the command alone, on one core. */
function startOf(argument: string): number {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, [
    fileURLToPath(new URL("../scripts/start.mjs", import.meta.url)),
    argument,
  ]);
  if (status !== 0) throw new Error(`reveille ${argument} ended with ${status}.`);
  return (performance.now() - began) / 1_000;
}

/** Presets that need no more than a secret, with one. */
function withSecrets(): Record<string, object> {
  const entries = BUILT_IN_PRESETS.flatMap((preset) => {
    if (preset.secretSettings.length > 0) return [];
    const auth = preset.auth({});
    const keys = auth && makePresetKeys(auth);
    return keys ? [[preset.name, { secret: keys.secrets[0] }] as const] : [];
  });
  return Object.fromEntries(entries.slice(0, PRESETS));
}

function cpuCells(cpu: LoadResult["cpu"]): string {
  if (!cpu) return "not known on this system";
  const threads = [cpu.main, cpu.writer, cpu.helpers, cpu.other].map((micros) => micros.toFixed(1));
  return `${threads.join(" + ")} µs`;
}

function mib(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} MiB`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}
