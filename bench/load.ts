/**
 * The load of the benchmark, run as a process of its own so that it can be pinned to its own core:
 * `node bench/load.ts '<json of LoadOptions>'` prints one line of JSON, a `LoadResult`.
 *
 * It speaks HTTP/1.1 over plain sockets with prepared bytes, one request at a time a connection,
 * because a general client costs more than the servers it would measure.
 */
import { randomUUID } from "node:crypto";
import { createHistogram } from "node:perf_hooks";
import { connect } from "node:net";
import { callBody } from "./call-body.ts";
import { senders } from "./senders.ts";
import type { SenderName } from "./senders.ts";
import { perCall, threadCpuMicros } from "./thread-cpu.ts";
import type { ThreadCpu } from "./thread-cpu.ts";

export interface LoadOptions {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Process of the server, whose processor time is read. */
  readonly pid: number;
  /** The same body again and again, or that many calls with a body each, made before the clock starts. */
  readonly body: string | { readonly distinct: number; readonly sender?: SenderName | undefined };
  readonly connections: number;
  /** Calls that are due each second, whatever the server does; absent: each connection sends when it was answered. */
  readonly ratePerSecond?: number;
  readonly warmupMs: number;
  readonly durationMs: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  /** From when the call was due where there is a rate, otherwise from when it was sent. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server for each answer; `null` where the system does not say. */
  readonly cpu: ThreadCpu | null;
  /** Calls that were due and not sent when the time was up: the server does not keep up with the rate. */
  readonly behind: number;
  /** How many answers had which status, while it was measured. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Of calls with a body each: the answers from first to last, and how many deliveries they name. */
  readonly distinct?: { readonly answers: number; readonly deliveries: number };
}

/** The requests in the order in which they are sent; a single one is sent for ever. */
function prepare({ body, ...options }: LoadOptions): () => Buffer | undefined {
  if (typeof body === "string") {
    const bytes = requestBytes({ ...options, body });
    return () => bytes;
  }
  const sender = body.sender && senders[body.sender];
  const requests = Array.from({ length: body.distinct }, () => {
    const id = randomUUID();
    const text = callBody(id);
    return requestBytes({ ...options, body: text, headers: { ...options.headers, ...sender?.sign(text, id) } });
  });
  let sent = 0;
  return () => requests[sent++];
}

type Request = Pick<LoadOptions, "port" | "path" | "headers"> & { readonly body: string };

function requestBytes({ port, path, headers, body }: Request): Buffer {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

/** Length of the first complete response in `text`, or 0 when there is none yet. */
function responseLength(text: string): number {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return 0;
  const lengthAt = text.toLowerCase().indexOf("content-length: ");
  const bodyLength = lengthAt === -1 || lengthAt > headEnd ? 0 : Number.parseInt(text.slice(lengthAt + 16), 10);
  const total = headEnd + 4 + bodyLength;
  return text.length >= total ? total : 0;
}

/** The calls that are due and not yet sent, oldest first: when each was due, in nanoseconds. */
class Schedule {
  readonly #periodNs: number;
  #due: number[] = [];
  #sent = 0;
  #next = Number(process.hrtime.bigint());

  constructor(ratePerSecond: number) {
    this.#periodNs = 1e9 / ratePerSecond;
  }

  get waiting(): number {
    return this.#due.length - this.#sent;
  }

  take(): number | undefined {
    const now = Number(process.hrtime.bigint());
    for (; this.#next <= now; this.#next += this.#periodNs) this.#due.push(this.#next);
    if (this.waiting === 0) return undefined;
    const due = this.#due[this.#sent++];
    if (this.#sent > 10_000) {
      this.#due = this.#due.slice(this.#sent);
      this.#sent = 0;
    }
    return due;
  }
}

async function run(options: LoadOptions): Promise<LoadResult> {
  const next = prepare(options);
  const answers: string[] | undefined = typeof options.body === "string" ? undefined : [];
  const schedule = options.ratePerSecond === undefined ? undefined : new Schedule(options.ratePerSecond);
  /** Of connections that wait for a call to be due. */
  const idle: (() => void)[] = [];
  const histogram = createHistogram();
  const statuses: Record<string, number> = {};
  let measuring = false;
  let stopped = false;
  let count = 0;

  function open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true });
      let pending = "";
      let startedAt = 0;
      const send = (): void => {
        const due = schedule ? schedule.take() : Number(process.hrtime.bigint());
        if (due === undefined && !stopped) {
          idle.push(send);
          return;
        }
        const bytes = due === undefined ? undefined : next();
        if (due === undefined || bytes === undefined) {
          socket.end();
          return;
        }
        startedAt = due;
        socket.write(bytes);
      };
      socket.on("connect", send);
      socket.on("data", (chunk: Buffer) => {
        pending += chunk.toString("latin1");
        const length = responseLength(pending);
        if (length === 0) return;
        const status = pending.slice(9, 12);
        answers?.push(pending.slice(0, length));
        pending = pending.slice(length);
        if (measuring) {
          count++;
          statuses[status] = (statuses[status] ?? 0) + 1;
          histogram.record(Math.max(1, Math.round(Number(process.hrtime.bigint()) - startedAt)));
        }
        if (stopped) socket.end();
        else send();
      });
      socket.on("close", () => resolve());
      socket.on("error", reject);
    });
  }

  const connections = Array.from({ length: options.connections }, open);
  const turn = (): void => {
    // One call of each connection in a turn: the answers are read between them.
    for (const send of idle.splice(0)) send();
    if (!stopped || idle.length > 0) setImmediate(turn);
  };
  if (schedule) turn();
  await Promise.race([Promise.all(connections), new Promise((done) => setTimeout(done, options.warmupMs))]);
  measuring = true;
  const cpuBefore = threadCpuMicros(options.pid);
  const startedAt = performance.now();
  await Promise.race([Promise.all(connections), new Promise((done) => setTimeout(done, options.durationMs))]);
  measuring = false;
  stopped = true;
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpu = perCall(cpuBefore, threadCpuMicros(options.pid), count);
  const behind = schedule?.waiting ?? 0;
  await Promise.all(connections);
  return {
    requestsPerSecond: count / seconds,
    p50Ms: histogram.percentile(50) / 1e6,
    p99Ms: histogram.percentile(99) / 1e6,
    // JSON has no NaN.
    cpu: Number.isFinite(cpu.main) ? cpu : null,
    behind,
    statuses,
    ...(answers && { distinct: { answers: answers.length, deliveries: countDeliveries(answers) } }),
  };
}

function countDeliveries(answers: readonly string[]): number {
  const ids = answers.map((answer) => /"deliveryId":"([^"]+)"/.exec(answer)?.[1]);
  return new Set(ids.filter((id) => id !== undefined)).size;
}

console.log(JSON.stringify(await run(JSON.parse(process.argv[2]!) as LoadOptions)));
// The time that a load may take keeps the process alive after one that ended earlier.
process.exit(0);
