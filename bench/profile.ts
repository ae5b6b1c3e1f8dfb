/**
 * `npm run bench -- profile [wake]`: where the main thread of the gateway spends its time during a load, by the
 * stage that asked for it. Time in Node, V8 and libuv counts for the file of `src/` that called it.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { callBody } from "./call-body.ts";
import { refuseFailures, runLoad } from "./run-load.ts";
import { HOOK_TOKEN, lastMappingPath, startGateway } from "./servers.ts";

/** As V8 writes it (Chrome DevTools Protocol, Profiler.Profile). */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

export interface ProfileOptions {
  readonly what: "mapped" | "wake";
  readonly warmupMs: number;
  readonly durationMs: number;
  readonly connections: number;
}

const source = new URL("../src/", import.meta.url).href;

/** Runs the sources rather than the bundle, because a bundle has no files. Returns a table. */
export async function reportProfile({ what, warmupMs, durationMs, connections }: ProfileOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-profile-"));
  try {
    const program = [
      "--cpu-prof",
      `--cpu-prof-dir=${folder}`,
      "--cpu-prof-interval=200",
      fileURLToPath(new URL("cli/main.ts", source)),
    ];
    const gateway = await startGateway({ mappings: 1, stateDir: join(folder, "state"), program });
    const result = await runLoad({
      port: gateway.port,
      pid: gateway.pid,
      path: what === "wake" ? "/hooks/wake" : lastMappingPath(1),
      headers: { authorization: `Bearer ${HOOK_TOKEN}` },
      body: callBody(4711),
      connections,
      warmupMs,
      durationMs,
    });
    await gateway.stop();
    refuseFailures(what, result);
    const calls = (result.requestsPerSecond * (durationMs + warmupMs)) / 1_000;
    return table(byPlace(await mainProfile(folder), gateway.startSeconds * 1e6), calls);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Each thread writes one; only the main thread's has the HTTP server. */
async function mainProfile(folder: string): Promise<CpuProfile> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".cpuprofile")) continue;
    const profile = JSON.parse(await readFile(join(folder, name), "utf8")) as CpuProfile;
    if (profile.nodes.some(({ callFrame }) => callFrame.url === `${source}ingress/pipeline.ts`)) return profile;
  }
  throw new Error("No profile holds the pipeline: the gateway did not end by itself.");
}

/** Microseconds by place, without those of the start, which loads and compiles every module. */
function byPlace({ nodes, samples, timeDeltas }: CpuProfile, startMicros: number): Map<string, number> {
  const places = new Map<number, string>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  /** By the file that asked for it: time in Node, V8 and libuv counts for the nearest caller in `src/`. */
  const walk = (node: ProfileNode, inherited: string): void => {
    const place = placeOf(node) ?? inherited;
    places.set(node.id, place);
    for (const child of node.children ?? []) walk(byId.get(child)!, place);
  };
  walk(nodes[0]!, "node: HTTP, streams, event loop");
  const micros = new Map<string, number>();
  let passed = 0;
  samples.forEach((id, at) => {
    const delta = timeDeltas[at] ?? 0;
    passed += delta;
    if (passed < startMicros) return;
    const place = places.get(id) ?? "unknown";
    micros.set(place, (micros.get(place) ?? 0) + delta);
  });
  micros.delete("(idle)");
  return micros;
}

function placeOf({ callFrame: { functionName, url } }: ProfileNode): string | undefined {
  if (functionName === "(idle)" || functionName === "(garbage collector)" || functionName === "(program)") {
    return functionName;
  }
  if (!url.startsWith(source)) return undefined;
  return url.slice(source.length);
}

function table(micros: ReadonlyMap<string, number>, calls: number): string {
  const total = [...micros.values()].reduce((sum, each) => sum + each, 0);
  const rows = [...micros]
    .toSorted(([, left], [, right]) => right - left)
    .filter(([, each]) => each > total / 300)
    .map(([place, each]) => `| ${place} | ${(each / calls).toFixed(1)} | ${((each / total) * 100).toFixed(1)} % |`);
  return `| place | µs a call | share |\n|---|---|---|\n${rows.join("\n")}\n| all | ${(total / calls).toFixed(1)} | |`;
}
