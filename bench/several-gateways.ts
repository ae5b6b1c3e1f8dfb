/** Several gateways on one PostgreSQL: how many calls all of them accept together, and how many turns they carry out. */
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { migrate } from "../src/storage/postgres/migrate.ts";
import { callBody } from "./call-body.ts";
import type { Timing } from "./calls.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { postgresCpuMicros, type PostgresServer, startPostgres } from "./peers/postgres.ts";
import { refuseFailures, runLoad } from "./run-load.ts";
import { HOOK_TOKEN, lastMappingPath, type RunningGateway, startGateway } from "./servers.ts";

const COUNTS = [1, 2, 4] as const;

/** Turns at once of each gateway, on a model that takes a second. */
const CONCURRENCY = 16;

/** After the calls, until all gateways have turns. */
const SETTLING_MS = 3_000;

/** What all gateways do together in one round. */
interface Accepted {
  readonly callsPerSecond: number;
  readonly turnsPerSecond: number;
  readonly p99Ms: number;
  /** For each call. */
  readonly databaseMicros: number;
}

/** Which core does what: each gateway, each load and the database have cores of their own as far as there are any. */
function coresFor(gateways: number): { readonly wanted: number; readonly coreOf: (at: number) => number } {
  const all = cpus().length;
  return { wanted: 2 * gateways + 1, coreOf: (at) => at % all };
}

export async function reportSeveral(timing: Timing): Promise<string> {
  const all = cpus().length;
  // The server of the database uses what is left, whatever that is: its processes are many.
  const database = await startPostgres(all === 1 ? "0" : `0-${all - 1}`);
  if (database === undefined)
    return "## Several gateways on one PostgreSQL\n\nNot installed: run apt-get install postgresql.";
  try {
    await migrate(database.url);
    const rounds = new Map<number, Accepted[]>(COUNTS.map((count) => [count, []]));
    for (let round = 0; round < timing.rounds; round++) {
      // In turns, since the speed of the machine drifts.
      for (const count of COUNTS) rounds.get(count)!.push(await measure(count, database, timing));
    }
    const rows = COUNTS.map((count) => row(count, rounds.get(count)!, rounds.get(1)!));
    return `## Several gateways on one PostgreSQL

The mapped agent call at each gateway, answered after its commit; all gateways have \`several\`, and one of them has the runs. Then no call comes, and what has waited is carried out: turns at all gateways, ${CONCURRENCY} at once at each, with a model that takes a second. Each gateway and each load is pinned to a core, one after the other, and the server of the database uses all of them. This machine has ${all}: where a row wants more, its parts share them, and the row says nothing of what the database can.

| gateways | cores wanted | calls a second | ratio to one | p99 ms | database CPU µs a call | turns a second | ratio to one |
|---|---|---|---|---|---|---|---|
${rows.join("\n")}
`;
  } finally {
    await database.stop();
  }
}

async function measure(count: number, database: PostgresServer, timing: Timing): Promise<Accepted> {
  const { coreOf } = coresFor(count);
  const folders: string[] = [];
  const gateways: RunningGateway[] = [];
  try {
    for (let at = 0; at < count; at++) {
      const stateDir = await mkdtemp(join(tmpdir(), "reveille-bench-several-"));
      folders.push(stateDir);
      const shared = { mappings: 1, databaseUrl: database.url, several: true, concurrency: CONCURRENCY };
      gateways.push(await startGateway({ ...shared, stateDir, core: coreOf(at) }));
    }
    const load = (durationMs: number): Promise<LoadResult[]> =>
      Promise.all(gateways.map((gateway, at) => loadOn(gateway, { ...timing, durationMs }, coreOf(count + at))));
    await load(timing.firstWarmupMs / 4);
    const before = postgresCpuMicros(database);
    const results = await load(timing.durationMs);
    const spent = postgresCpuMicros(database) - before;
    for (const [at, result] of results.entries()) refuseFailures(`gateway ${at + 1} of ${count}`, result);
    const callsPerSecond = results.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
    await sleep(SETTLING_MS);
    const turns = async (): Promise<number> =>
      (await Promise.all(gateways.map((gateway) => gateway.turns()))).reduce((sum, each) => sum + each, 0);
    const turnsBefore = await turns();
    await sleep(timing.durationMs);
    return {
      callsPerSecond,
      turnsPerSecond: ((await turns()) - turnsBefore) / (timing.durationMs / 1_000),
      p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
      databaseMicros: spent / (callsPerSecond * (timing.durationMs / 1_000)),
    };
  } finally {
    for (const gateway of gateways) await gateway.stop();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}

function loadOn({ port, pid }: RunningGateway, { connections, durationMs }: Timing, core: number): Promise<LoadResult> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}` };
  const call = { port, pid, path: lastMappingPath(1), headers, body: callBody(4711) };
  return runLoad({ ...call, connections, warmupMs: 0, durationMs }, core);
}

function row(count: number, rounds: readonly Accepted[], ones: readonly Accepted[]): string {
  const of = (figure: (round: Accepted) => number): number => median(rounds.map(figure));
  const ratio = median(rounds.map(({ callsPerSecond }, round) => callsPerSecond / ones[round]!.callsPerSecond));
  const turnsRatio = median(rounds.map(({ turnsPerSecond }, round) => turnsPerSecond / ones[round]!.turnsPerSecond));
  const { wanted } = coresFor(count);
  const cells = [
    String(count),
    wanted > cpus().length ? `${wanted}, of ${cpus().length}` : String(wanted),
    of(({ callsPerSecond }) => callsPerSecond).toFixed(0),
    ratio.toFixed(2),
    of(({ p99Ms }) => p99Ms).toFixed(1),
    of(({ databaseMicros }) => databaseMicros).toFixed(0),
    of(({ turnsPerSecond }) => turnsPerSecond).toFixed(1),
    turnsRatio.toFixed(2),
  ];
  return `| ${cells.join(" | ")} |`;
}
