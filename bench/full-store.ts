/**
 * A store that has been in use for long: how soon the gateway starts on it, and whether it accepts and
 * carries out what waits as fast as on one that holds nothing but its queue.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "./median.ts";
import { prefill } from "./prefill.ts";
import type { Stored } from "./prefill.ts";
import { loadWithToken, refuseFailures } from "./run-load.ts";
import { lastMappingPath, startGateway } from "./servers.ts";

interface Timing {
  readonly rounds: number;
  readonly warmupMs: number;
  readonly durationMs: number;
  readonly connections: number;
}

interface Round {
  readonly startSeconds: number;
  readonly runsPerSecond: number;
  readonly requestsPerSecond: number;
}

/** Agent runs at once, on a model that answers at once: what is measured is the gateway. */
const CONCURRENCY = 16;

/** Measures the stores in turns and writes the section of the report. */
export async function reportFullStore(timing: Timing, cases: readonly Stored[]): Promise<string> {
  const folders: string[] = [];
  const rounds = new Map<Stored, Round[]>(cases.map((stored) => [stored, []]));
  try {
    for (const stored of cases) {
      const folder = await mkdtemp(join(tmpdir(), "reveille-bench-full-"));
      folders.push(folder);
      await prefill(folder, stored);
    }
    for (let round = 0; round < timing.rounds; round++) {
      for (const [at, stored] of cases.entries()) rounds.get(stored)!.push(await measure(folders[at]!, timing));
    }
  } finally {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
  const rows = cases.map((stored) => row(stored, rounds.get(stored)!, rounds.get(cases[0]!)!));
  return `## A store that is full

Start is from the command to the line that says the gateway is listening, the process itself included. Carried out are runs of ${CONCURRENCY} at once, on a model that answers at once; accepted is the mapped agent call, as above, while runs are carried out. Ratios are to the first row.

| stored | start s | runs carried out a second | ratio | calls accepted a second | ratio |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

async function measure(stateDir: string, { warmupMs, durationMs, connections }: Timing): Promise<Round> {
  const began = performance.now();
  const server = await startGateway({ mappings: 1, stateDir, turnMs: 0, concurrency: CONCURRENCY });
  const startSeconds = (performance.now() - began) / 1_000;
  try {
    await sleep(warmupMs);
    const turns = await server.turns();
    await sleep(durationMs);
    const runsPerSecond = ((await server.turns()) - turns) / (durationMs / 1_000);
    const result = await loadWithToken(server, lastMappingPath(1), { connections, warmupMs, durationMs });
    refuseFailures("a full store", result);
    return { startSeconds, runsPerSecond, requestsPerSecond: result.requestsPerSecond };
  } finally {
    await server.stop();
  }
}

function row({ settled, queued = 0 }: Stored, rounds: readonly Round[], first: readonly Round[]): string {
  const of = (name: keyof Round, all: readonly Round[]): number => median(all.map((round) => round[name]));
  const ratio = (name: keyof Round): string => (of(name, rounds) / of(name, first)).toFixed(2);
  const count = (value: number): string => Math.round(value).toLocaleString("en");
  return `| ${[
    `${count(settled)} settled, ${count(queued)} queued`,
    of("startSeconds", rounds).toFixed(2),
    count(of("runsPerSecond", rounds)),
    ratio("runsPerSecond"),
    count(of("requestsPerSecond", rounds)),
    ratio("requestsPerSecond"),
  ].join(" | ")} |`;
}
