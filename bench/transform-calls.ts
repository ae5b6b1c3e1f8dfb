/** What a transform adds to a call, in a process of its own beside in the gateway's; and what hostile ones do to others. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { median } from "./median.ts";
import { refuseFailures, runLoad } from "./run-load.ts";
import { HOOK_TOKEN } from "./servers.ts";
import type { AloneResult } from "./transform-alone.ts";
import { startTransformGateway } from "./transform-gateway.ts";
import { reportHostile } from "./transform-hostile.ts";
import { pushPayload } from "./transform-payload.ts";

export interface TransformTiming {
  readonly rounds: number;
  readonly warmupMs: number;
  readonly durationMs: number;
  readonly connections: number;
}

type Isolation = "process" | "none";

interface HttpRound {
  /** With one connection. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** With all connections. */
  readonly requestsPerSecond: number;
}

const run = promisify(execFile);
const script = fileURLToPath(new URL("transform-alone.ts", import.meta.url));
const body = JSON.stringify(pushPayload());
/** Of transforms alone, for each second that a load is measured. */
const CALLS_PER_SECOND = 2_000;
const ORDINARY_CALLS = 1_000;

/** Measures and writes the section of the report. */
export async function reportTransformCalls(timing: TransformTiming): Promise<string> {
  const alone = await reportAlone(timing);
  console.log(alone);
  const http = await reportHttp(timing);
  console.log(http);
  const hostile = await reportHostile({
    calls: timing.durationMs < 5_000 ? ORDINARY_CALLS / 4 : ORDINARY_CALLS,
    rounds: timing.rounds,
  });
  return `## What a transform adds to a call

A transform that reads a payload of ${body.length} bytes and returns a text, warm, with \`hooks.transforms.isolation\` as it is by default (\`process\`) and \`none\`. First the call of the transform alone, from asking to the result, without HTTP or store, on whatever core the system chooses:

${alone}

The same as a mapping that wakes, over HTTP, with its durable commit; the gateway and its sandbox processes pinned to one core, the load to the other:

${http}

Ordinary calls of the same two mappings, one every 10 ms in turn, timed from when each was due: quiet, and while each of the hostile transforms of the tests is called, one after the other (limits as they are by default; every one of those ended as a failure). Nothing is pinned, so gateway, sandbox processes and load share both cores:

${hostile}
`;
}

/** None, process, none, process: ratios within a round. */
async function reportAlone({ rounds, durationMs }: TransformTiming): Promise<string> {
  const calls = String(Math.round((CALLS_PER_SECOND * durationMs) / 1_000));
  const results: Record<Isolation, AloneResult[]> = { none: [], process: [] };
  for (let round = 0; round < rounds; round++) {
    for (const isolation of ["none", "process"] as const) {
      const { stdout } = await run(process.execPath, [script, isolation, calls]);
      results[isolation].push(JSON.parse(stdout) as AloneResult);
    }
  }
  const rows = (["none", "process"] as const).map((isolation) => {
    const of = (field: keyof AloneResult): number => median(results[isolation].map((result) => result[field]));
    const figures = [of("medianMicros").toFixed(1), of("p99Micros").toFixed(1)];
    return `| ${[isolation, ...figures, Math.round(of("callsPerSecond")).toLocaleString("en")].join(" | ")} |`;
  });
  return `| isolation | median µs | p99 µs | calls a second, 16 at once |\n|---|---|---|---|\n${rows.join("\n")}`;
}

async function reportHttp(timing: TransformTiming): Promise<string> {
  const [inProcess, inSandbox] = [
    await startTransformGateway({ isolation: "none", core: 0 }),
    await startTransformGateway({ isolation: "process", core: 0 }),
  ];
  const variants = [
    { name: "no transform", gateway: inSandbox, path: "plain" },
    { name: "isolation none", gateway: inProcess, path: "push" },
    { name: "isolation process", gateway: inSandbox, path: "push" },
  ];
  const results = variants.map((): HttpRound[] => []);
  try {
    for (let round = 0; round < timing.rounds; round++) {
      for (const [at, { name, gateway, path }] of variants.entries()) {
        const load = (connections: number) =>
          runLoad({
            port: gateway.port,
            pid: gateway.pid,
            path: `/hooks/${path}`,
            headers: { authorization: `Bearer ${HOOK_TOKEN}` },
            body,
            connections,
            warmupMs: timing.warmupMs,
            durationMs: timing.durationMs,
          });
        const [one, many] = [await load(1), await load(timing.connections)];
        for (const result of [one, many]) refuseFailures(name, result);
        results[at]?.push({ p50Ms: one.p50Ms, p99Ms: one.p99Ms, requestsPerSecond: many.requestsPerSecond });
      }
    }
  } finally {
    await inProcess.stop();
    await inSandbox.stop();
  }
  const rows = variants.map(({ name }, at) => {
    const rounds = results[at] ?? [];
    const of = (field: keyof HttpRound): number => median(rounds.map((round) => round[field]));
    const ratio = median(
      rounds.map((round, which) => round.requestsPerSecond / (results[0]?.[which]?.requestsPerSecond ?? Number.NaN)),
    );
    const figures = [of("p50Ms").toFixed(2), of("p99Ms").toFixed(2), Math.round(of("requestsPerSecond"))];
    return `| ${[name, ...figures.map((figure) => figure.toLocaleString("en")), ratio.toFixed(2)].join(" | ")} |`;
  });
  return `| call | p50 ms, 1 connection | p99 ms | req/s, ${timing.connections} connections | of the req/s without |\n|---|---|---|---|---|\n${rows.join("\n")}`;
}
