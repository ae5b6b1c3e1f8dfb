/** Ordinary calls at an even pace, quiet and while every hostile transform of the tests is called in turn. */
import { Agent, request } from "node:http";
import { createHistogram } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { hostileModules } from "../test/integration/transforms/hostile-modules.ts";
import { memoryBombs } from "../test/integration/transforms/memory-bombs.ts";
import { HOOK_TOKEN } from "./servers.ts";
import { startTransformGateway } from "./transform-gateway.ts";
import type { TransformGateway } from "./transform-gateway.ts";
import { pushPayload } from "./transform-payload.ts";

export interface HostileOptions {
  /** Ordinary calls on each path, at least. */
  readonly calls: number;
  readonly rounds: number;
}

interface Pace {
  readonly calls: number;
  /** Those that were not accepted. */
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

type OrdinaryPath = "plain" | "push";

const EVERY_MS = 10;
const PATHS: readonly OrdinaryPath[] = ["plain", "push"];
const body = JSON.stringify(pushPayload());
const hostile = [...hostileModules, ...memoryBombs];

/** A table of both kinds of ordinary calls, quiet and not; each round its own gateway. */
export async function reportHostile({ calls, rounds }: HostileOptions): Promise<string> {
  const rows: string[] = [];
  for (let round = 1; round <= rounds; round++) {
    const modules = Object.fromEntries(hostile.map(({ source }, at) => [`hostile-${at}`, source]));
    const gateway = await startTransformGateway({ isolation: "process", modules });
    const agent = new Agent({ keepAlive: true });
    try {
      const ask = (path: string): Promise<number> => call(gateway, agent, path);
      await paced(ask, () => Promise.resolve(), calls / 4);
      const quiet = await paced(ask, () => Promise.resolve(), calls);
      const beset = await paced(ask, () => harm(gateway), calls);
      for (const path of PATHS) rows.push(row(round, path, quiet[path], beset[path]));
      console.log(rows.slice(-PATHS.length).join("\n"));
    } finally {
      agent.destroy();
      await gateway.stop();
    }
  }
  return `| round | ordinary calls | quiet: calls | errors | p50 ms | p99 ms | meanwhile: calls | errors | p50 ms | p99 ms | p99 of the quiet one |
|---|---|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}`;
}

/** Calls both paths in turn, each call at its time, until there are enough and `meanwhile` is done. */
async function paced(
  ask: (path: string) => Promise<number>,
  meanwhile: () => Promise<void>,
  calls: number,
): Promise<Record<OrdinaryPath, Pace>> {
  const histograms = { plain: createHistogram(), push: createHistogram() };
  const errors = { plain: 0, push: 0 };
  const done = new AbortController();
  const doing = meanwhile().finally(() => done.abort());
  const underWay: Promise<void>[] = [];
  const begunAt = performance.now();
  for (let at = 0; !done.signal.aborted || at < calls * PATHS.length; at++) {
    // A call that could not be sent in time has waited since then.
    const dueAt = begunAt + at * EVERY_MS;
    await setTimeout(Math.max(0, dueAt - performance.now()));
    const path = PATHS[at % PATHS.length] ?? "plain";
    const one = ask(path).then((status) => {
      if (status !== 200) errors[path]++;
      histograms[path].record(Math.max(1, Math.round((performance.now() - dueAt) * 1_000)));
    });
    // Its failure is seen below.
    one.catch(() => {});
    underWay.push(one);
  }
  await Promise.all([...underWay, doing]);
  const paceOf = (path: OrdinaryPath): Pace => ({
    calls: histograms[path].count,
    errors: errors[path],
    p50Ms: histograms[path].percentile(50) / 1_000,
    p99Ms: histograms[path].percentile(99) / 1_000,
  });
  return { plain: paceOf("plain"), push: paceOf("push") };
}

/** Each one after the other; every one has to fail, and one for which no process is free is tried again. */
async function harm(gateway: TransformGateway): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  for (const [at, { name }] of hostile.entries()) {
    let status = 503;
    while (status === 503) status = await call(gateway, agent, `hostile-${at}`);
    if (status !== 500) throw new Error(`The transform with ${name} was answered ${status}.`);
  }
  agent.destroy();
}

function call({ port }: TransformGateway, agent: Agent, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: `/hooks/${path}`, method: "POST", headers, agent }, (res) => {
      res.resume().once("end", () => resolve(res.statusCode ?? 0));
    });
    sent.once("error", reject).end(body);
  });
}

function row(round: number, path: OrdinaryPath, quiet: Pace, beset: Pace): string {
  const figures = [quiet, beset].flatMap(({ calls, errors, p50Ms, p99Ms }) => [
    calls,
    errors,
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
  ]);
  const what = path === "plain" ? "without a transform" : "with a transform";
  return `| ${[round, what, ...figures, (beset.p99Ms / quiet.p99Ms).toFixed(2)].join(" | ")} |`;
}
