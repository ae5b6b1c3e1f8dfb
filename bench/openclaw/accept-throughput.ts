/** What an accepted call costs inside the host, beside a route of a plugin that only reads, parses and answers. */
import { spawnSync } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { callBody } from "../call-body.ts";
import type { LoadResult } from "../load.ts";
import { median } from "../median.ts";
import { refuseFailures, runLoad } from "../run-load.ts";
import { BARE_PATH } from "./bare-route-plugin.ts";
import type { BenchHost } from "./bench-host.ts";
import { BUILT_IN, REVEILLE } from "./side.ts";
import { sumOf } from "../thread-cpu.ts";

export interface ThroughputOptions {
  readonly rounds: number;
  readonly warmupMs: number;
  readonly durationMs: number;
  /** False when the gateway may use every core, as it may outside a benchmark. */
  readonly isPinned: boolean;
}

export interface Throughput {
  readonly what: string;
  readonly requestsPerSecond: number;
  /** Of the bare route, measured right before and after. */
  readonly ofBare: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicrosPerCall: number;
}

type Measured = LoadResult & { readonly ofBare: number };

interface Target {
  readonly what: string;
  readonly path: string;
  readonly token: string;
  readonly body: string;
}

const CONNECTIONS = 32;
const BODY = callBody(4711);
const AGENT_BODY = JSON.stringify({ name: "Bench", message: "x".repeat(BODY.length - 30) });
/** Longer than it is measured: the one run that has begun stays in progress, all others wait. */
const HELD_MS = 3_600_000;
const BETWEEN_MS = 2_000;
/** With its first agent turn the host loads its plugins once more. */
const SETTLE_MS = 30_000;

const BARE: Target = { what: "a plugin's bare route: read, parse, answer 202", path: BARE_PATH, token: "", body: BODY };
const TARGETS: readonly Target[] = [
  target("Reveille: `/agent`", `${REVEILLE.prefix}/agent`, { token: REVEILLE.token, body: AGENT_BODY }),
  target("Reveille: `/wake`, `next-heartbeat`", `${REVEILLE.prefix}/wake`, { token: REVEILLE.token, body: BODY }),
  target(
    "built-in hooks: `/wake`, `next-heartbeat`, one text again and again, nothing kept",
    `${BUILT_IN.prefix}/wake`,
    { token: BUILT_IN.token, body: BODY },
  ),
];

function target(what: string, path: string, { token, body }: { token: string; body: string }): Target {
  return { what, path, token, body };
}

/** The bare route is measured before and after each of the others: the machine's speed drifts. */
export async function measureThroughput(host: BenchHost, options: ThroughputOptions): Promise<Throughput[]> {
  host.model.delayMs = HELD_MS;
  // The queue's bound is not what is measured. One run is in progress, so that accepting is.
  await host.restart({ reveille: { maxQueuedRuns: 10_000_000, concurrency: 1 } });
  const pid = await host.pid();
  if (options.isPinned) pin(pid);
  await host.post(REVEILLE, "/agent", { message: "Hold on [say nothing]" });
  while (host.model.underWay() === 0) await setTimeout(100);
  await setTimeout(SETTLE_MS);
  const bare: Measured[] = [];
  const measured = TARGETS.map((): Measured[] => []);
  for (let round = 1; round <= options.rounds; round++) {
    let before = await load(BARE);
    bare.push({ ...before, ofBare: 1 });
    for (const [at, one] of TARGETS.entries()) {
      const result = await load(one);
      const after = await load(BARE);
      const ofBare = (2 * result.requestsPerSecond) / (before.requestsPerSecond + after.requestsPerSecond);
      measured[at]?.push({ ...result, ofBare });
      bare.push({ ...after, ofBare: 1 });
      console.error(
        `round ${round}, ${one.what}: ${Math.round(result.requestsPerSecond)}/s, ${ofBare.toFixed(2)} of the bare route`,
      );
      before = after;
    }
  }
  await host.forget();
  host.model.delayMs = 0;
  return [summarize(BARE, bare), ...TARGETS.map((one, at) => summarize(one, measured[at] ?? []))];

  async function load({ what, path, token, body }: Target): Promise<LoadResult> {
    const headers: Record<string, string> = token === "" ? {} : { authorization: `Bearer ${token}` };
    await setTimeout(BETWEEN_MS);
    const result = await runLoad({ port: host.port, pid, path, headers, body, connections: CONNECTIONS, ...options });
    refuseFailures(what, result);
    return result;
  }
}

function summarize({ what }: Target, rounds: readonly Measured[]): Throughput {
  const of = (figure: (round: Measured) => number): number => median(rounds.map((round) => figure(round)));
  return {
    what,
    requestsPerSecond: of(({ requestsPerSecond }) => requestsPerSecond),
    ofBare: of(({ ofBare }) => ofBare),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    cpuMicrosPerCall: of(({ cpu }) => (cpu ? sumOf(cpu) : Number.NaN)),
  };
}

/** All threads of the gateway on the first core, as the load is on the second. */
function pin(pid: number): void {
  if (process.platform !== "linux") return;
  const { status } = spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", "0", String(pid)]);
  if (status !== 0) throw new Error(`The gateway could not be pinned to one core: taskset ended with ${status}.`);
}
