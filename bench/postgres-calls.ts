/** The gateway with its deliveries in PostgreSQL, beside SQLite, and beside pg-boss inserting a row for each call. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { migrate } from "../src/storage/postgres/migrate.ts";
import { callBody } from "./call-body.ts";
import type { Timing } from "./calls.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { postgresCpuMicros, type PostgresServer, startPostgres } from "./peers/postgres.ts";
import { refuseFailures, runLoad } from "./run-load.ts";
import {
  HOOK_TOKEN,
  lastMappingPath,
  type RunningGateway,
  type RunningServer,
  startGateway,
  startPgBossOn,
} from "./servers.ts";
import { sumOf, threadCpuMicros } from "./thread-cpu.ts";

/** Agent runs at once, on a model that answers at once. */
const CONCURRENCY = 16;

interface Subject {
  readonly name: string;
  readonly path: string;
  readonly start: () => Promise<RunningServer>;
  readonly database: PostgresServer | undefined;
  /** Starts it so that it carries out what waits; absent: it carries out nothing. */
  readonly startDraining?: () => Promise<RunningGateway>;
}

interface Accepted {
  readonly load: LoadResult;
  /** Of the server of the database, for each call; 0 without one. */
  readonly databaseMicros: number;
}

interface Drained {
  readonly runsPerSecond: number;
  readonly gatewayMicros: number;
  readonly databaseMicros: number;
}

export async function reportPostgres(timing: Timing): Promise<string> {
  const first = await startPostgres();
  if (first === undefined) return "## Deliveries in PostgreSQL\n\nNot installed: run apt-get install postgresql.";
  const second = (await startPostgres())!;
  const folders = await Promise.all([0, 1].map(() => mkdtemp(join(tmpdir(), "reveille-bench-postgres-state-"))));
  const gateway = (name: string, stateDir: string, database?: PostgresServer): Subject => {
    const shared = { mappings: 1, stateDir, databaseUrl: database?.url };
    const startDraining = () => startGateway({ ...shared, turnMs: 0, concurrency: CONCURRENCY });
    return { name, path: lastMappingPath(1), start: () => startGateway(shared), startDraining, database };
  };
  const subjects: readonly Subject[] = [
    gateway("SQLite", folders[0]!),
    gateway("PostgreSQL", folders[1]!, first),
    { name: "fastify and pg-boss", path: "/hooks/wake", start: () => startPgBossOn(second), database: second },
  ];
  try {
    await migrate(first.url);
    const accepted = await acceptRounds(subjects, timing);
    const drained = new Map<Subject, Drained>();
    for (const subject of subjects) {
      const { startDraining } = subject;
      if (startDraining !== undefined) drained.set(subject, await drain(await startDraining(), subject, timing));
    }
    const rows = subjects.map((subject) =>
      row(subject.name, accepted.get(subject)!, accepted.get(subjects[0]!)!, drained.get(subject)),
    );
    return `## Deliveries in PostgreSQL

The mapped agent call, answered after its commit. The gateway and the server of the database share one core, the load and the model have the other. pg-boss inserts a row for each call and carries out nothing. Ratios are to the first row. After the calls the gateway is started again and carries out what has waited, ${CONCURRENCY} runs at once, on a model that answers at once.

| deliveries in | calls a second | ratio | p50 ms | p99 ms | CPU µs a call: gateway | database | runs a second | CPU µs a run: gateway | database |
|---|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}
`;
  } finally {
    for (const database of [first, second]) await database.stop();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}

/** Measures all in turns, since the speed of the machine drifts. */
async function acceptRounds(
  subjects: readonly Subject[],
  timing: Timing,
): Promise<ReadonlyMap<Subject, readonly Accepted[]>> {
  const rounds = new Map<Subject, Accepted[]>(subjects.map((subject) => [subject, []]));
  const running = new Map<Subject, RunningServer>();
  try {
    for (const subject of subjects) {
      const server = await subject.start();
      running.set(subject, server);
      await accept(server, subject, { ...timing, durationMs: timing.firstWarmupMs });
    }
    for (let round = 0; round < timing.rounds; round++) {
      for (const [subject, server] of running) rounds.get(subject)!.push(await accept(server, subject, timing));
    }
  } finally {
    for (const server of running.values()) await server.stop();
  }
  return rounds;
}

async function accept(server: RunningServer, { name, path, database }: Subject, timing: Timing): Promise<Accepted> {
  const { connections, warmupMs, durationMs } = timing;
  const headers = { authorization: `Bearer ${HOOK_TOKEN}` };
  const common = { port: server.port, pid: server.pid, path, headers, body: callBody(4711), connections };
  await runLoad({ ...common, warmupMs: 0, durationMs: warmupMs });
  const before = database === undefined ? 0 : postgresCpuMicros(database);
  const load = await runLoad({ ...common, warmupMs: 0, durationMs });
  const spent = database === undefined ? 0 : postgresCpuMicros(database) - before;
  refuseFailures(name, load);
  return { load, databaseMicros: spent / (load.requestsPerSecond * (durationMs / 1_000)) };
}

async function drain(server: RunningGateway, { database }: Subject, timing: Timing): Promise<Drained> {
  try {
    await sleep(timing.warmupMs);
    const spent = (): number => (database === undefined ? 0 : postgresCpuMicros(database));
    const [turns, cpu, databaseCpu] = [await server.turns(), sumOf(threadCpuMicros(server.pid)), spent()];
    await sleep(timing.durationMs);
    const runs = (await server.turns()) - turns;
    return {
      runsPerSecond: runs / (timing.durationMs / 1_000),
      gatewayMicros: (sumOf(threadCpuMicros(server.pid)) - cpu) / runs,
      databaseMicros: (spent() - databaseCpu) / runs,
    };
  } finally {
    await server.stop();
  }
}

function row(name: string, rounds: readonly Accepted[], firsts: readonly Accepted[], drained?: Drained): string {
  const of = (figure: (round: Accepted) => number): number => median(rounds.map(figure));
  const ratio = median(rounds.map(({ load }, round) => load.requestsPerSecond / firsts[round]!.load.requestsPerSecond));
  const runs = drained === undefined ? [] : [drained.runsPerSecond, drained.gatewayMicros, drained.databaseMicros];
  const cells = [
    of(({ load }) => load.requestsPerSecond).toFixed(0),
    ratio.toFixed(2),
    of(({ load }) => load.p50Ms).toFixed(1),
    of(({ load }) => load.p99Ms).toFixed(1),
    of(({ load: { cpu } }) => (cpu === null ? Number.NaN : sumOf(cpu))).toFixed(0),
    of(({ databaseMicros }) => databaseMicros).toFixed(0),
    ...(drained === undefined ? ["", "", ""] : runs.map((figure) => figure.toFixed(0))),
  ];
  return `| ${[name, ...cells].join(" | ")} |`;
}
