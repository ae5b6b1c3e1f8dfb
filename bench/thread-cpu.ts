import { readdirSync, readFileSync } from "node:fs";

/** Processor time of a process in microseconds, by the threads that spent it. */
export interface ThreadCpu {
  readonly main: number;
  /** The threads that write to SQLite and empty its log. */
  readonly writer: number;
  /** V8's helpers: compiler and garbage collector. */
  readonly helpers: number;
  /** libuv's pool and what has no name of its own. */
  readonly other: number;
}

const NONE: ThreadCpu = { main: 0, writer: 0, helpers: 0, other: 0 };

/**
 * Processor time of a process so far, `NaN` where the system does not say. A thread that has ended is missing.
 * Source: Linux, Documentation/scheduler/sched-stats: the first field of `schedstat` is nanoseconds on a core.
 */
export function threadCpuMicros(pid: number): ThreadCpu {
  if (process.platform !== "linux") {
    return { main: Number.NaN, writer: Number.NaN, helpers: Number.NaN, other: Number.NaN };
  }
  const total = { ...NONE };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    try {
      const micros = Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ", 1)[0]) / 1_000;
      total[kindOf(readFileSync(`${folder}/comm`, "utf8").trim(), thread === String(pid))] += micros;
    } catch {
      // The thread ended while the list was read.
    }
  }
  return total;
}

function kindOf(name: string, isMain: boolean): keyof ThreadCpu {
  if (isMain) return "main";
  if (name.startsWith("sqlite")) return "writer";
  return name.startsWith("V8") || name.startsWith("DelayedTask") ? "helpers" : "other";
}

/** What was spent between two readings for each of `calls`. */
export function perCall(before: ThreadCpu, after: ThreadCpu, calls: number): ThreadCpu {
  const of = (kind: keyof ThreadCpu): number => (after[kind] - before[kind]) / calls;
  return { main: of("main"), writer: of("writer"), helpers: of("helpers"), other: of("other") };
}

export function sumOf({ main, writer, helpers, other }: ThreadCpu): number {
  return main + writer + helpers + other;
}
