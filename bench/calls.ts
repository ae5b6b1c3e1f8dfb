/** What an accepted-and-durable call costs, beside a bare `node:http` server and peers in the same run. */
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { loadBare, loadWithToken, refuseFailures } from "./run-load.ts";
import {
  lastMappingPath,
  startBare,
  startCommitting,
  startFastify,
  startGateway,
  startPgBoss,
  startWebhook,
} from "./servers.ts";
import type { RunningGateway, RunningServer, StateFolders } from "./servers.ts";
import { sumOf } from "./thread-cpu.ts";

export interface Timing {
  readonly rounds: number;
  /** Before each measurement. */
  readonly warmupMs: number;
  /** Once, before a server is measured at all: the compiler has seen the whole path then. */
  readonly firstWarmupMs: number;
  readonly durationMs: number;
  readonly connections: number;
}

interface Scenario {
  readonly name: string;
  readonly path: string;
  /** `undefined`: what it needs is not installed. */
  start(): Promise<RunningServer | RunningGateway | undefined>;
}

interface Round {
  readonly load: LoadResult;
  /** Of the bare server right before and after. */
  readonly ratio: number;
  /** Of a bare server whose one thread spends as little as the main thread here. */
  readonly mainRatio: number;
}

interface Measured {
  readonly rounds: readonly Round[];
  /** Of the first second and a half of a new process. */
  readonly coldRatio: number;
  /** Calls accepted and runs begun while it was measured; `undefined` for a peer. */
  readonly deferred?: { readonly accepted: number; readonly begun: number };
}

/** Of the mapped agent call, for the row of the history. */
export interface CallFigures {
  readonly ratio: number;
  readonly cpuMicros: number;
}

const MAPPINGS = 10_000;
/** Calls due each second, of the table of latencies. */
const RATES = [2_000, 6_000, 10_000];

export async function reportCalls(
  timing: Timing,
  { state, stored }: { readonly state: StateFolders; readonly stored: number },
): Promise<{ text: string; figures: CallFigures }> {
  const gateway = (what: string, path: string, mappings: number, settled: number): Scenario => ({
    name: `${what}, ${count(mappings)} mapping${mappings === 1 ? "" : "s"}, ${count(settled)} stored`,
    path,
    start: async () => startGateway({ mappings, stateDir: await state.with(settled) }),
  });
  const mapped = gateway("mapped agent call", lastMappingPath(1), 1, 0);
  const scenarios: readonly Scenario[] = [
    { name: "bare node:http: read, parse, answer", path: "/hooks/wake", start: startBare },
    { name: "the same, and a second thread commits each body to SQLite", path: "/hooks/wake", start: startCommitting },
    { name: "fastify, kept in memory", path: "/hooks/wake", start: startFastify },
    { name: "fastify and pg-boss, PostgreSQL on the same core", path: "/hooks/wake", start: startPgBoss },
    { name: "adnanh/webhook, nothing kept, `/bin/true` for each call", path: "/hooks/wake", start: startWebhook },
    gateway("wake", "/hooks/wake", 1, 0),
    mapped,
    gateway("mapped agent call", lastMappingPath(MAPPINGS), MAPPINGS, 0),
    gateway("wake", "/hooks/wake", 1, stored),
    gateway("mapped agent call", lastMappingPath(1), 1, stored),
    gateway("mapped agent call", lastMappingPath(MAPPINGS), MAPPINGS, stored),
  ];
  const rows: string[] = [];
  let figures: CallFigures = { ratio: Number.NaN, cpuMicros: Number.NaN };
  const deferred: string[] = [];
  for (const scenario of scenarios) {
    const measured = await measureScenario(scenario, timing);
    rows.push(row(scenario.name, measured));
    console.log(rows.at(-1));
    if (measured?.deferred)
      deferred.push(`${scenario.name}: ${count(measured.deferred.accepted - measured.deferred.begun)}`);
    if (scenario === mapped && measured) {
      figures = {
        ratio: median(measured.rounds.map(({ ratio }) => ratio)),
        cpuMicros: median(measured.rounds.map(({ load }) => cpuOf(load))),
      };
    }
  }
  const latencies = await reportLatencies(mapped, timing);
  const text = `## What an accepted call costs

Every call of the gateway is answered after its commit has reached the disk (SQLite, WAL, \`synchronous=FULL\`). The same call is sent by ${timing.connections} connections, each of which sends again when it is answered, so p50 and p99 only say how many wait. **cold** is the ratio in the first 1.5 s of a new process. Two rows say what any gateway on \`node:http\` and SQLite pays at least: HTTP alone, and HTTP with one row for each body. **main thread alone** is what the main thread would reach if the others had a core of their own: the processor time of a bare call as a part of the main thread's.

| what | req/s | of the bare server | main thread alone | cold | CPU µs a call | main | writer | V8 helpers | other | p50 ms | p99 ms |
|---|---|---|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}

Accepting is what is measured: the model takes a second for a turn, and 4 runs are carried out at once. Runs that were accepted while it was measured, and had not begun at its end: ${deferred.join("; ")}. What carrying out costs is in "A store that is full".

The same mapped agent call at a fixed rate, each call timed from when it was due, whether the server was ready for it or not:

| calls due a second | p50 ms | p99 ms | answered a second | late at the end |
|---|---|---|---|---|
${latencies.join("\n")}
`;
  return { text, figures };
}

/** Bare, scenario, bare: each ratio is taken against the mean of the two around it. */
async function measureScenario(scenario: Scenario, timing: Timing): Promise<Measured | undefined> {
  const { name, path } = scenario;
  const server = await scenario.start();
  if (server === undefined) return undefined;
  const cold = await loadWithToken(server, path, timing, { warmupMs: 0, durationMs: 1_500 });
  await loadWithToken(server, path, timing, { warmupMs: 0, durationMs: timing.firstWarmupMs });
  const rounds: Round[] = [];
  let accepted = 0;
  const begunBefore = await begunRuns(server);
  let before = await loadBare(timing);
  for (let round = 0; round < timing.rounds; round++) {
    const result = await loadWithToken(server, path, timing);
    refuseFailures(name, result);
    const after = await loadBare(timing);
    const bareRate = (before.requestsPerSecond + after.requestsPerSecond) / 2;
    const bareCpu = (cpuOf(before) + cpuOf(after)) / 2;
    rounds.push({
      load: result,
      ratio: result.requestsPerSecond / bareRate,
      mainRatio: bareCpu / (result.cpu?.main ?? Number.NaN),
    });
    accepted += Object.values(result.statuses).reduce((sum, each) => sum + each, 0);
    before = after;
  }
  const begun = (await begunRuns(server)) - begunBefore;
  await server.stop();
  return {
    rounds,
    coldRatio: cold.requestsPerSecond / before.requestsPerSecond,
    ...("turns" in server && { deferred: { accepted, begun } }),
  };
}

async function begunRuns(server: RunningServer | RunningGateway): Promise<number> {
  return "turns" in server ? server.turns() : 0;
}

async function reportLatencies(scenario: Scenario, timing: Timing): Promise<string[]> {
  const server = await scenario.start();
  if (server === undefined) return [];
  await loadWithToken(server, scenario.path, timing, { warmupMs: 0, durationMs: timing.firstWarmupMs });
  const rows: string[] = [];
  for (const ratePerSecond of RATES) {
    const rounds: LoadResult[] = [];
    for (let round = 0; round < timing.rounds; round++) {
      rounds.push(await loadWithToken(server, scenario.path, timing, { ratePerSecond }));
      refuseFailures(`${ratePerSecond} a second`, rounds.at(-1)!);
    }
    const of = (field: "p50Ms" | "p99Ms" | "requestsPerSecond" | "behind"): number =>
      median(rounds.map((each) => each[field]));
    rows.push(
      `| ${[count(ratePerSecond), of("p50Ms").toFixed(1), of("p99Ms").toFixed(1), count(of("requestsPerSecond")), count(of("behind"))].join(" | ")} |`,
    );
    console.log(rows.at(-1));
  }
  await server.stop();
  return rows;
}

function row(name: string, measured: Measured | undefined): string {
  if (measured === undefined) return `| ${name} | not installed | | | | | | | | | | |`;
  const { rounds, coldRatio } = measured;
  const of = (figure: (round: Round) => number): number => median(rounds.map(figure));
  const cells = [
    count(of(({ load: { requestsPerSecond } }) => requestsPerSecond)),
    of(({ ratio }) => ratio).toFixed(2),
    // What starts a program for each call does next to nothing in its own main thread.
    of(({ mainRatio }) => mainRatio) < 10 ? of(({ mainRatio }) => mainRatio).toFixed(2) : "",
    coldRatio.toFixed(2),
    of(({ load: result }) => cpuOf(result)).toFixed(1),
    ...(["main", "writer", "helpers", "other"] as const).map((thread) =>
      of(({ load: { cpu } }) => cpu?.[thread] ?? Number.NaN).toFixed(1),
    ),
    of(({ load: { p50Ms } }) => p50Ms).toFixed(1),
    of(({ load: { p99Ms } }) => p99Ms).toFixed(1),
  ];
  return `| ${[name, ...cells].join(" | ")} |`;
}

function cpuOf({ cpu }: LoadResult): number {
  return cpu ? sumOf(cpu) : Number.NaN;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}
