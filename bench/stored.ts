/**
 * A store of any size, while it is read and while retention removes from it: what that does to accepted calls, and how
 * long it takes itself.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Timing } from "./calls.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { prefill } from "./prefill.ts";
import { loadBare, loadWithToken, refuseFailures } from "./run-load.ts";
import { GATEWAY_TOKEN, lastMappingPath, startGateway } from "./servers.ts";
import type { RunningGateway, RunningServer } from "./servers.ts";

/** Calls due each second: a fifth of what the slowest machine of this benchmark accepts. */
const RATE = 1_000;
const SETTLE_MS = 3_000;
const PATH = lastMappingPath(1);
/** In no stored delivery. */
const FILTERS = { route: "nowhere", text: "nowhere at all" };

interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Figures {
  readonly startSeconds: number;
  readonly memoryMiB: number;
  /** Of the bare server right before and after. */
  readonly ratio: number;
  readonly quiet: Latency;
  readonly read: Latency;
  readonly removing: Latency;
  /** The slowest answer of a page, and of each filter that matches nothing. */
  readonly pageMs: number;
  readonly nothingMs: readonly number[];
  readonly removedPerSecond: number;
}

export async function reportStored(timing: Timing, sizes: readonly number[]): Promise<string> {
  const rows: string[] = [];
  for (const settled of sizes) {
    const folder = await mkdtemp(join(tmpdir(), "reveille-bench-stored-"));
    try {
      if (settled > 0) await prefill(folder, { settled });
      rows.push(row(settled, await measure(folder, settled, timing)));
      console.log(rows.at(-1));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return `## A store that is read and pruned

The mapped agent call at ${RATE.toLocaleString("en")} a second, timed from when it was due: quiet, while one reader after the other asks for pages of the list and for what is nowhere, and while retention removes all that is stored. The ratio is that of as many calls as are taken, beside the bare server. Memory and start are those of an idle gateway.

| stored | ready s | memory MiB | of the bare server | quiet: p50 ms | p99 ms | while lists are read: p50 ms | p99 ms | page, longest ms | no such route, longest ms | no such text, longest ms | removed a second | meanwhile: p50 ms | p99 ms |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

async function measure(stateDir: string, settled: number, timing: Timing): Promise<Figures> {
  const gateway = await startGateway({ mappings: 1, stateDir });
  await sleep(SETTLE_MS);
  const memoryMiB = await gateway.memoryMiB();
  await loadWithToken(gateway, PATH, { ...timing, warmupMs: 0, durationMs: timing.firstWarmupMs });
  const ratio = await ratioToBare(gateway, timing);
  const quiet = await latency(gateway, timing);
  const reader = new Reader(gateway);
  const read = await latency(gateway, timing);
  await reader.stop();
  await gateway.stop();
  const removal = await startGateway({ mappings: 1, stateDir, retention: { deliveries: "1s", payloads: "1s" } });
  const watch = await RemovalWatch.open(stateDir, settled);
  const removing = await latency(removal, timing);
  const removedPerSecond = watch.close();
  await removal.stop();
  const { pageMs, nothingMs } = reader;
  const { startSeconds } = gateway;
  return { startSeconds, memoryMiB, ratio, quiet, read, removing, pageMs, nothingMs, removedPerSecond };
}

async function ratioToBare(gateway: RunningGateway, timing: Timing): Promise<number> {
  const ratios: number[] = [];
  let before = await loadBare(timing);
  for (let round = 0; round < timing.rounds; round++) {
    const result = await loadWithToken(gateway, PATH, timing);
    refuseFailures("a store of any size", result);
    const after = await loadBare(timing);
    ratios.push((2 * result.requestsPerSecond) / (before.requestsPerSecond + after.requestsPerSecond));
    before = after;
  }
  return median(ratios);
}

async function latency(gateway: RunningGateway, timing: Timing): Promise<Latency> {
  const rounds: LoadResult[] = [];
  for (let round = 0; round < timing.rounds; round++) {
    rounds.push(await loadWithToken(gateway, PATH, timing, { ratePerSecond: RATE }));
    refuseFailures("a store that is used", rounds.at(-1)!);
  }
  return {
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  };
}

/** Somebody at the console who pages and searches without a pause. */
class Reader {
  pageMs = 0;
  readonly nothingMs = Object.keys(FILTERS).map(() => 0);
  readonly #api: string;
  readonly #reading: Promise<void>;
  #isStopped = false;

  constructor({ port }: RunningServer) {
    this.#api = `http://127.0.0.1:${port}/api/v1/deliveries`;
    this.#reading = this.#read();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#reading;
  }

  async #read(): Promise<void> {
    let cursor = "";
    while (!this.#isStopped) {
      const page = await this.#page(`?limit=200${cursor}`);
      this.pageMs = Math.max(this.pageMs, page.ms);
      cursor = page.next === null ? "" : `&cursor=${encodeURIComponent(page.next)}`;
      for (const [at, [name, value]] of Object.entries(FILTERS).entries()) {
        this.nothingMs[at] = Math.max(
          this.nothingMs[at]!,
          await this.#searchAll(`?${name}=${encodeURIComponent(value)}`),
        );
      }
    }
  }

  /** Until it is known that nothing matches, or it is stopped. */
  async #searchAll(query: string): Promise<number> {
    let ms = 0;
    for (let cursor: string | null = ""; cursor !== null && !this.#isStopped;) {
      const page: { readonly ms: number; readonly next: string | null } = await this.#page(
        `${query}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      ms += page.ms;
      cursor = page.next;
    }
    return ms;
  }

  async #page(query: string): Promise<{ readonly ms: number; readonly next: string | null }> {
    const began = performance.now();
    const response = await fetch(`${this.#api}${query}`, { headers: { authorization: `Bearer ${GATEWAY_TOKEN}` } });
    if (!response.ok) throw new Error(`${query} was answered ${response.status}.`);
    const { nextCursor } = (await response.json()) as { readonly nextCursor: string | null };
    return { ms: performance.now() - began, next: nextCursor };
  }
}

/** How fast the oldest deliveries go: those from 1 to a number have ended. */
class RemovalWatch {
  readonly #database: DatabaseSync;
  readonly #timer = setInterval(() => this.#look(), 200);
  readonly #last: number;
  readonly #from: { readonly atMs: number; readonly oldest: number };
  #to: { readonly atMs: number; readonly oldest: number };

  static async open(stateDir: string, last: number): Promise<RemovalWatch> {
    const name = (await readdir(stateDir)).find((file) => file.endsWith(".sqlite"));
    return new RemovalWatch(new DatabaseSync(join(stateDir, name!), { readOnly: true, timeout: 5_000 }), last);
  }

  private constructor(database: DatabaseSync, last: number) {
    this.#database = database;
    this.#last = last;
    this.#from = this.#to = this.#now();
  }

  /** Deliveries that went a second, until the last one had gone. */
  close(): number {
    clearInterval(this.#timer);
    this.#look();
    this.#database.close();
    return ((this.#to.oldest - this.#from.oldest) * 1_000) / (this.#to.atMs - this.#from.atMs);
  }

  #look(): void {
    if (this.#to.oldest <= this.#last) this.#to = this.#now();
  }

  #now(): { readonly atMs: number; readonly oldest: number } {
    const found = this.#database.prepare("SELECT min(seq) AS seq FROM deliveries").get();
    return { atMs: performance.now(), oldest: Number(found?.["seq"] ?? 0) };
  }
}

function row(settled: number, figures: Figures): string {
  const { quiet, read, removing } = figures;
  const cells = [
    settled.toLocaleString("en"),
    figures.startSeconds.toFixed(2),
    figures.memoryMiB.toFixed(0),
    figures.ratio.toFixed(2),
    ...[quiet.p50Ms, quiet.p99Ms, read.p50Ms, read.p99Ms].map((ms) => ms.toFixed(1)),
    ...[figures.pageMs, ...figures.nothingMs].map((ms) => ms.toFixed(0)),
    settled === 0 ? "" : Math.round(figures.removedPerSecond).toLocaleString("en"),
    ...[removing.p50Ms, removing.p99Ms].map((ms) => ms.toFixed(1)),
  ];
  return `| ${cells.join(" | ")} |`;
}
