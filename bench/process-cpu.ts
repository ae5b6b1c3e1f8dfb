import { readFileSync } from "node:fs";

/** What Linux counts processor time in, for every process that reads it. */
const TICKS_PER_SECOND = 100;

/** Processor time of a process so far, of all its threads, in microseconds; `NaN` where the system does not say. */
export function processCpuMicros(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may hold anything; user and system time are the 14th and 15th field.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
}
