/**
 * `npm run bench`: what the gateway costs, beside a bare `node:http` server that reads and parses the same body,
 * and beside peers, each as its users run it. Server on one core, load and model on the other. Every round measures
 * the bare server again, and ratios are taken within the round, because the machine's speed drifts.
 *
 * The result is printed and written to bench/RESULTS.md, whatever it is, and a row of it to bench/HISTORY.md.
 * `npm run bench -- full` measures that part alone (`weight`, `calls`, `signed`, `watched`, `full`, `stored`, `transforms`, `postgres` with `postgres-several`, `strangers`, `first-hour`)
 * and leaves the others as they are written there. `--quick` measures shortly and writes nothing, nor does `--stored=10000000`, which
 * takes another number of stored deliveries. `npm run bench -- profile`
 * prints where the main thread spends a call (see profile.ts); `npm run bench -- scale` simulates many gateways; `npm run bench -- openclaw` is another benchmark,
 * inside the real OpenClaw (see openclaw/run-openclaw-bench.ts).
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { callBody } from "./call-body.ts";
import { reportCalls } from "./calls.ts";
import type { CallFigures, Timing } from "./calls.ts";
import { reportFirstHour } from "./first-hour.ts";
import { reportFullStore } from "./full-store.ts";
import { recordHistory } from "./history.ts";
import { runOpenClawBench } from "./openclaw/run-openclaw-bench.ts";
import { reportPostgres } from "./postgres-calls.ts";
import { reportProfile } from "./profile.ts";
import { StateFolders } from "./servers.ts";
import { reportSeveral } from "./several-gateways.ts";
import { reportSignedCalls } from "./signed-calls.ts";
import { reportSlowStrangers } from "./slow-strangers.ts";
import { reportTransformCalls } from "./transform-calls.ts";
import { reportStored } from "./stored.ts";
import { reportWatched } from "./watched.ts";
import { reportWeight } from "./weight.ts";
import type { WeightFigures } from "./weight.ts";

const CONNECTIONS = 64;
const quick = process.argv.includes("--quick");
const timing: Timing = quick
  ? { rounds: 1, firstWarmupMs: 1_000, warmupMs: 500, durationMs: 1_500, connections: CONNECTIONS }
  : { rounds: 3, firstWarmupMs: 8_000, warmupMs: 1_500, durationMs: 5_000, connections: CONNECTIONS };
const given = /^--stored=(\d+)$/.exec(process.argv.find((argument) => argument.startsWith("--stored=")) ?? "")?.[1];
const STORED = given === undefined ? (quick ? 20_000 : 1_000_000) : Number(given);
const QUEUED = quick ? 5_000 : 100_000;

if (process.argv[2] === "openclaw") process.exit(await runOpenClawBench(process.argv.slice(3)));
if (process.argv[2] === "scale") {
  await import("./scale/main.ts");
  process.exit(0);
}
if (process.argv[2] === "profile") {
  const what = process.argv.includes("wake") ? "wake" : "mapped";
  console.log(await reportProfile({ what, warmupMs: 0, durationMs: 10_000, connections: CONNECTIONS }));
  process.exit(0);
}

const state = new StateFolders();
let callFigures: CallFigures | undefined;
let weightFigures: WeightFigures | undefined;
const parts: Readonly<Record<string, () => Promise<string>>> = {
  weight: async () => {
    const { text, figures } = await reportWeight(timing, { stored: STORED, queued: QUEUED });
    weightFigures = figures;
    return text;
  },
  calls: async () => {
    const { text, figures } = await reportCalls(timing, { state, stored: STORED });
    callFigures = figures;
    return text;
  },
  signed: () => reportSignedCalls(timing, state),
  watched: () => reportWatched(timing, state),
  full: () =>
    reportFullStore(timing, [
      { settled: 0, queued: QUEUED },
      { settled: STORED, queued: QUEUED },
    ]),
  stored: () => reportStored(timing, [0, STORED]),
  transforms: () => reportTransformCalls(timing),
  postgres: () => reportPostgres(timing),
  "postgres-several": () => reportSeveral(timing),
  strangers: () => reportSlowStrangers({ rounds: timing.rounds, durationMs: 2 * timing.durationMs }),
  "first-hour": reportFirstHour,
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
const writes = !quick && given === undefined;
const sections = !writes ? [] : sectionsOf(await readFile(results, "utf8"));
// `postgres` is every part of it.
const isChosen = (name: string): boolean => chosen.some((one) => name === one || name.startsWith(`${one}-`));
const wanted = Object.entries(parts).filter(([name]) => chosen.length === 0 || isChosen(name));
for (const [at, [name, report]] of wanted.entries()) {
  console.error(
    `[${"#".repeat(at)}${"-".repeat(wanted.length - at)}] ${at} of ${wanted.length} parts are measured; now ${name}`,
  );
  const section = `${(await report()).trim()}\n\nMeasured ${today}, ${machine}.`;
  const before = sections.findIndex((each) => headingOf(each) === headingOf(section));
  if (before !== -1) sections[before] = section;
  // What a gateway weighs comes first.
  else if (name === "weight") sections.unshift(section);
  else sections.push(section);
}
await state.remove();

const report = `# Results of the benchmark

\`npm run bench\`: ${CONNECTIONS} keep-alive connections, a body of ${callBody(4711).length} bytes, the server pinned to one core, the load and the model to the other. Medians of ${timing.rounds} rounds of ${timing.durationMs / 1_000} s; each ratio is taken against what is measured right before and after, because the machine is shared and its speed drifts. Read the ratios. It adds a row for each release to HISTORY.md beside this file.

${sections.join("\n\n")}
`;
console.log(report);
if (writes) {
  await writeFile(results, report);
  if (callFigures && weightFigures) await recordHistory(today, { ...callFigures, ...weightFigures });
}

/** The sections of an earlier report in their order, those that are measured elsewhere as well. */
function sectionsOf(text: string): string[] {
  const sections = text.split(/^(?=## )/m).slice(1);
  return sections.map((section) => section.trim());
}

function headingOf(section: string): string | undefined {
  return section.split("\n", 1)[0];
}
