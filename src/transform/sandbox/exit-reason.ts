import { constants } from "node:os";

/** The facts about a process that has ended by itself. */
export interface ExitFacts {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last that it wrote to stderr. */
  readonly stderr: string;
  readonly heapMegabytes: number;
}

/** It tries to end by the signal that has ended its child, which no one can by this one, and complains. */
const UNSHARE_ENDED_BY_SIGKILL = /^\S*unshare: (?:sigprocmask unblock|child exit) failed/m;

/** Says why a process has ended; continues a sentence that begins with the module. */
export function exitReason({ code, signal, stderr, heapMegabytes }: ExitFacts): string {
  if (stderr.includes("heap out of memory")) return `ran out of its JavaScript heap of ${heapMegabytes} MB`;
  const ended = signal ?? (UNSHARE_ENDED_BY_SIGKILL.test(stderr) ? "SIGKILL" : signalOf(code));
  if (ended === undefined) return `ended its process (exit code ${code})`;
  return ended === "SIGKILL" ? "had its process killed from outside" : `crashed its process (${ended})`;
}

/** A program in front of the process reports its signal by a number, as a shell does. */
function signalOf(code: number | null): string | undefined {
  const number = (code ?? 0) - 128;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}

/** `2,000 ms`. */
export function millisecondsText(value: number): string {
  return `${value.toLocaleString("en-US")} ms`;
}

/** `256 MB`. */
export function megabytesText(bytes: number): string {
  return `${Math.floor(bytes / 1_048_576).toLocaleString("en-US")} MB`;
}
