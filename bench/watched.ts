/** What it costs a gateway to be watched: an open console, and a scrape of its metrics. */
import { get } from "node:http";
import type { Timing } from "./calls.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { loadWithToken, refuseFailures } from "./run-load.ts";
import { GATEWAY_TOKEN, lastMappingPath, startGateway } from "./servers.ts";
import type { RunningServer, StateFolders } from "./servers.ts";
import { sumOf } from "./thread-cpu.ts";

/** What the overview reads again after a change, at most so often. */
const PAGE_READS = [
  "status",
  "hooks",
  "deliveries/stats",
  "deliveries/stats?since=1h&span=1m",
  "deliveries?open=true&limit=200",
  "deliveries?state=queued&limit=200",
];
/** After a change; as the page, later where reading takes long. */
const READ_AGAIN_MS = 1_000;
const TIMES_AS_LONG = 50;
/** As Prometheus does by default, but more often, so that each round has some. */
const SCRAPE_EVERY_MS = 5_000;

/** A console with its page open in a browser, and a Prometheus; both as bytes on sockets. */
class Watchers {
  readonly #url: string;
  readonly #cookie: string;
  readonly #timers: NodeJS.Timeout[] = [];
  #events: ReturnType<typeof get> | undefined;
  #waitMs = READ_AGAIN_MS;
  #isDue = false;

  static async signIn({ port }: RunningServer): Promise<Watchers> {
    const url = `http://127.0.0.1:${port}`;
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" };
    const made = await fetch(`${url}/api/v1/console/links`, { method: "POST", headers, body: "{}" });
    const { path: link } = (await made.json()) as { path: string };
    const page = { "x-reveille-console": "1", "content-type": "application/json" };
    const body = JSON.stringify({ link: link.split("#sign-in=").at(-1) });
    const signedIn = await fetch(`${url}/console/api/sign-in`, { method: "POST", headers: page, body });
    const cookie = signedIn.headers.get("set-cookie")?.split(";", 1)[0];
    if (cookie === undefined) throw new Error(`The console was not opened: ${signedIn.status}.`);
    return new Watchers(url, cookie);
  }

  private constructor(url: string, cookie: string) {
    this.#url = url;
    this.#cookie = cookie;
  }

  open(): void {
    const headers = { cookie: this.#cookie, accept: "text/event-stream" };
    this.#events = get(`${this.#url}/console/api/events`, { headers }, (response) => {
      response.on("data", () => this.#changed());
      response.on("error", () => undefined);
    });
    this.#events.on("error", () => undefined);
    this.#timers.push(setInterval(() => void this.#read("/metrics", {}), SCRAPE_EVERY_MS));
  }

  close(): void {
    this.#events?.destroy();
    this.#isDue = false;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
  }

  #changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#timers.push(setTimeout(() => void this.#readPage(), this.#waitMs));
  }

  async #readPage(): Promise<void> {
    this.#isDue = false;
    const startMs = performance.now();
    const headers = { cookie: this.#cookie };
    await Promise.all(PAGE_READS.map((path) => this.#read(`/console/api/${path}`, headers)));
    this.#waitMs = Math.max(READ_AGAIN_MS, TIMES_AS_LONG * (performance.now() - startMs));
  }

  async #read(path: string, headers: Record<string, string>): Promise<void> {
    const response = await fetch(this.#url + path, { headers });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}.`);
    await response.arrayBuffer();
  }
}

export async function reportWatched(timing: Timing, state: StateFolders): Promise<string> {
  const server = await startGateway({ mappings: 1, stateDir: await state.with(0) });
  const load = (durationMs: number): Promise<LoadResult> =>
    loadWithToken(server, lastMappingPath(1), { ...timing, durationMs });
  await load(timing.firstWarmupMs);
  const watchers = await Watchers.signIn(server);
  const rounds: { readonly rate: number; readonly cpu: number }[] = [];
  let before = await load(timing.durationMs);
  // More of them than elsewhere: the difference is small beside what the machine does on its own.
  for (let round = 0; round < 3 * timing.rounds; round++) {
    watchers.open();
    const watched = await load(timing.durationMs);
    watchers.close();
    const after = await load(timing.durationMs);
    refuseFailures("a watched gateway", watched);
    rounds.push({
      rate: (2 * watched.requestsPerSecond) / (before.requestsPerSecond + after.requestsPerSecond),
      cpu: (2 * cpuOf(watched)) / (cpuOf(before) + cpuOf(after)),
    });
    before = after;
  }
  await server.stop();
  const [rate, cpu] = [median(rounds.map((each) => each.rate)), median(rounds.map((each) => each.cpu))];
  return `## A gateway that is watched

The mapped agent call, with the console open at its overview, which reads its figures again after changes, and with \`/metrics\` scraped every ${SCRAPE_EVERY_MS / 1_000} s; each round is taken against the rounds without before and after it.

| figure | with both, of without |
|---|---|
| calls a second | ${rate.toFixed(3)} |
| CPU of a call | ${cpu.toFixed(3)} |
`;
}

function cpuOf({ cpu }: LoadResult): number {
  return cpu ? sumOf(cpu) : Number.NaN;
}
