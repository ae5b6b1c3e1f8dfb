import { readFileSync, readdirSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

/** Ids of the processes of this machine that have the text in their command line; without those that only wait to be reaped. */
export function processesWith(text: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => textOf(`/proc/${name}/cmdline`).includes(text))
    .map(Number);
}

/** Those of them that are Node itself, not what was started in front of it. */
export function nodesWith(text: string): readonly number[] {
  return processesWith(text).filter((pid) => textOf(`/proc/${pid}/cmdline`).startsWith(process.execPath));
}

/** Waits until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setTimeout(10);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
