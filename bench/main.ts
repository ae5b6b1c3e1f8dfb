/**
 * `npm run bench`: what an accepted-and-durable call costs, beside a bare `node:http` server that
 * reads and parses the same body, and a common framework that keeps the call in memory.
 *
 * Server on one core, load on the other, 64 connections. Every round measures the bare server
 * again, and ratios are taken within the round, because the machine's speed drifts. A second table
 * says what a sender's signature adds to a call (see signed-calls.ts), a third how a store that is full
 * starts and works (see full-store.ts), a fourth what a transform adds (see transform-calls.ts). The result
 * is printed and written to bench/RESULTS.md, whatever it is. `npm run bench -- full` measures that part
 * alone (`calls`, `signed`, `full`, `transforms`) and leaves the others as they are written there. `--quick`
 * measures shortly and writes nothing. `npm run bench -- openclaw` is another benchmark, inside the real
 * OpenClaw (see openclaw/run-openclaw-bench.ts).
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { callBody } from "./call-body.ts";
import { reportFullStore } from "./full-store.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { runOpenClawBench } from "./openclaw/run-openclaw-bench.ts";
import { refuseFailures, runLoad } from "./run-load.ts";
import { HOOK_TOKEN, lastMappingPath, startBare, startGateway, startPeer, StateFolders } from "./servers.ts";
import type { RunningServer } from "./servers.ts";
import { reportSignedCalls } from "./signed-calls.ts";
import { reportTransformCalls } from "./transform-calls.ts";

if (process.argv[2] === "openclaw") process.exit(await runOpenClawBench(process.argv.slice(3)));

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 3;
const WARMUP_MS = quick ? 500 : 1_500;
const DURATION_MS = quick ? 1_500 : 5_000;
const STORED = quick ? 20_000 : 1_000_000;
const QUEUED = quick ? 5_000 : 100_000;
const MAPPINGS = 10_000;
const CONNECTIONS = 64;

interface Scenario {
  readonly name: string;
  readonly path: string;
  start(): Promise<RunningServer>;
}

interface Measured extends LoadResult {
  readonly memoryMiB: number;
  /** Of the bare server of the same round. */
  readonly ratio: number;
}

const state = new StateFolders();

const scenarios: readonly Scenario[] = [
  { name: "peer: fastify, in memory, wake", path: "/hooks/wake", start: startPeer },
  ...[0, STORED].flatMap((stored) => [
    gateway("wake", "/hooks/wake", 1, stored),
    gateway("mapped agent call", lastMappingPath(1), 1, stored),
    gateway("mapped agent call", lastMappingPath(MAPPINGS), MAPPINGS, stored),
  ]),
];

function gateway(what: string, path: string, mappings: number, stored: number): Scenario {
  const count = (value: number): string => value.toLocaleString("en");
  const name = `${what}, ${count(mappings)} mapping${mappings === 1 ? "" : "s"}, ${count(stored)} stored`;
  return { name, path, start: async () => startGateway({ mappings, stateDir: await state.with(stored) }) };
}

function measure(server: RunningServer, path: string): Promise<LoadResult> {
  return runLoad({
    port: server.port,
    pid: server.pid,
    path,
    headers: { authorization: `Bearer ${HOOK_TOKEN}` },
    body: callBody(4711),
    connections: CONNECTIONS,
    warmupMs: WARMUP_MS,
    durationMs: DURATION_MS,
  });
}

async function measureBare(): Promise<LoadResult> {
  const server = await startBare();
  const result = await measure(server, "/hooks/wake");
  await server.stop();
  return result;
}

/** Bare, scenario, bare: the ratio is taken against the mean of the two around it. */
async function measureScenario(scenario: Scenario): Promise<Measured[]> {
  const rounds: Measured[] = [];
  const server = await scenario.start();
  for (let round = 0; round < ROUNDS; round++) {
    const before = await measureBare();
    const result = await measure(server, scenario.path);
    const after = await measureBare();
    const bare = (before.requestsPerSecond + after.requestsPerSecond) / 2;
    refuseFailures(scenario.name, result);
    rounds.push({ ...result, memoryMiB: await server.memoryMiB(), ratio: result.requestsPerSecond / bare });
  }
  await server.stop();
  return rounds;
}

function row(name: string, rounds: readonly Measured[]): string {
  const figures = [
    Math.round(median(rounds.map((round) => round.requestsPerSecond))).toLocaleString("en"),
    median(rounds.map((round) => round.ratio)).toFixed(2),
    median(rounds.map((round) => round.p50Ms)).toFixed(1),
    median(rounds.map((round) => round.p99Ms)).toFixed(1),
    Math.round(median(rounds.map((round) => round.memoryMiB))),
  ];
  return `| ${[name, ...figures].join(" | ")} |`;
}

async function reportCalls(): Promise<string> {
  const rows = ["| what | req/s | of the bare server | p50 ms | p99 ms | memory MiB |", "|---|---|---|---|---|---|"];
  const bareRounds: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startBare();
    const result = await measure(server, "/hooks/wake");
    bareRounds.push({ ...result, memoryMiB: await server.memoryMiB(), ratio: 1 });
    await server.stop();
  }
  rows.push(row("bare node:http: read, parse, answer", bareRounds));
  for (const scenario of scenarios) {
    rows.push(row(scenario.name, await measureScenario(scenario)));
    console.log(rows.at(-1));
  }
  return `## What an accepted call costs

Every call of the gateway was answered after its commit had reached the disk (SQLite, WAL, \`synchronous=FULL\`); the peer keeps its calls in memory. The gateway carries out what it accepted meanwhile: its model takes a second a turn.

${rows.join("\n")}
`;
}

const timing = { rounds: ROUNDS, warmupMs: WARMUP_MS, durationMs: DURATION_MS, connections: CONNECTIONS };
const parts: Readonly<Record<string, () => Promise<string>>> = {
  calls: reportCalls,
  signed: () => reportSignedCalls(timing, state),
  full: () =>
    reportFullStore(timing, [
      { settled: 0, queued: QUEUED },
      { settled: STORED, queued: QUEUED },
    ]),
  transforms: () => reportTransformCalls(timing),
};

const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const unknown = chosen.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  console.error(`${unknown.join(", ")}: there is no such part; known are ${Object.keys(parts).join(", ")}.`);
  process.exit(1);
}
const results = new URL("RESULTS.md", import.meta.url);
const today = new Date().toISOString().slice(0, 10);
const machine = `Node ${process.versions.node}, ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})`;
const sections = quick ? [] : sectionsOf(await readFile(results, "utf8"));
for (const [name, report] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const section = `${(await report()).trim()}\n\nMeasured ${today}, ${machine}.`;
  const before = sections.findIndex((each) => headingOf(each) === headingOf(section));
  if (before === -1) sections.push(section);
  else sections[before] = section;
}
await state.remove();

const report = `# Results of the benchmark

\`npm run bench\`: ${CONNECTIONS} keep-alive connections, a body of ${callBody(4711).length} bytes, the server pinned to one core and the load to the other. Medians of ${ROUNDS} rounds of ${DURATION_MS / 1_000} s; each ratio is taken against what is measured right before and after, because the machine is shared and its speed drifts. Read the ratios.

${sections.join("\n\n")}
`;
console.log(report);
if (!quick) await writeFile(results, report);

/** What an earlier report has under its headings, in their order; those that are measured elsewhere as well. */
function sectionsOf(text: string): string[] {
  const sections = text.split(/^(?=## )/m).slice(1);
  return sections.map((section) => section.trim());
}

function headingOf(section: string): string | undefined {
  return section.split("\n", 1)[0];
}
