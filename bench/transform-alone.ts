/**
 * Calls of a transform and nothing else, run as a process of its own: `node bench/transform-alone.ts
 * <process|none> <calls>` prints one line of JSON, an `AloneResult`.
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHistogram } from "node:perf_hooks";
import type { PayloadContext } from "../src/core/delivery.ts";
import type { TransformsConfig } from "../src/config/transforms.ts";
import { loadInProcess } from "../src/transform/load.ts";
import { loadInSandbox } from "../src/transform/load-in-sandbox.ts";
import type { CallTransform } from "../src/transform/call.ts";
import { PUSH_TRANSFORM, pushPayload } from "./transform-payload.ts";

export interface AloneResult {
  /** One call after the other. */
  readonly medianMicros: number;
  readonly p99Micros: number;
  /** When there are always some in progress. */
  readonly callsPerSecond: number;
}

const AT_ONCE = 16;
const LIMITS: TransformsConfig = {
  isolation: "process",
  timeoutMs: 2_000,
  workers: 2,
  maxMemoryBytes: 268_435_456,
  maxCalls: 1_000_000_000,
  maxWaiting: 256,
  maxResultBytes: 1_048_576,
};
const silent = { debug() {}, info() {}, warn() {}, error() {} };

const [isolation, count] = process.argv.slice(2);
const calls = Number(count);
const folder = await realpath(await mkdtemp(join(tmpdir(), "reveille-bench-transforms-")));
const root = { path: join(folder, "transforms"), name: "transforms" };
const file = join(root.path, "push.mjs");
await mkdir(root.path);
await writeFile(file, PUSH_TRANSFORM);
const named = [{ mappingId: "push", file, export: undefined }];
const loadTimeoutMs = 30_000;
const loaded = await (isolation === "none"
  ? loadInProcess(named, { root, loadTimeoutMs })
  : loadInSandbox(named, {
      root,
      limits: LIMITS,
      workDir: join(folder, "work"),
      logger: silent,
      previous: undefined,
      loadTimeoutMs,
      mustAllWork: true,
    }));
const { set } = loaded;
if (set === undefined) throw new Error(loaded.failures.map(({ message }) => message).join());
const transform = set.get("push");
if (!transform) throw new Error("there is no transform");
await callOneByOne(transform, Math.ceil(calls / 4));
const alone = await callOneByOne(transform, calls);
const result: AloneResult = { ...alone, callsPerSecond: await callAtOnce(transform, calls) };
console.log(JSON.stringify(result));
await set.close();
await rm(folder, { recursive: true });

async function callOneByOne(call: CallTransform, times: number): Promise<Omit<AloneResult, "callsPerSecond">> {
  const made = newCall();
  const histogram = createHistogram();
  for (let at = 0; at < times; at++) {
    const begunAt = process.hrtime.bigint();
    await call(made);
    histogram.record(process.hrtime.bigint() - begunAt);
  }
  return { medianMicros: histogram.percentile(50) / 1e3, p99Micros: histogram.percentile(99) / 1e3 };
}

async function callAtOnce(call: CallTransform, times: number): Promise<number> {
  const made = newCall();
  let left = times;
  const work = async (): Promise<void> => {
    while (left-- > 0) await call(made);
  };
  const begunAt = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return (times / (performance.now() - begunAt)) * 1_000;
}

function newCall(): Parameters<CallTransform>[0] {
  const payload = pushPayload();
  const context: PayloadContext = { payload, headers: {}, query: {}, path: "push", now: new Date() };
  return { context, method: "POST", rawBody: Buffer.from(JSON.stringify(payload)), deliveryId: undefined };
}
