import { setTimeout } from "node:timers/promises";
import { killGroup } from "../kill-group.ts";
import { spawnSandbox } from "../spawn.ts";
import type { SandboxIsolation } from "./walls.ts";

/** What came of trying one thing. */
export interface ProbeAttempt {
  readonly did: boolean;
  readonly detail: string;
}

export interface ProbeAttemptsOptions {
  readonly isolation: SandboxIsolation;
  /** The script's folder, and its file. */
  readonly folder: string;
  readonly entry: string;
  readonly names: readonly string[];
  readonly given: object;
  readonly maxMemoryBytes: number;
}

const TIMEOUT_MS = 20_000;
const MAX_CHARACTERS = 65_536;

/**
 * Tries things in a process behind the walls from which no function was taken; by name of the thing. What
 * was not answered is missing.
 */
export async function probeAttempts(options: ProbeAttemptsOptions): Promise<ReadonlyMap<string, ProbeAttempt>> {
  const { names, given, ...rest } = options;
  const { child, channel, stderr } = spawnSandbox({ ...rest, args: [JSON.stringify({ names, given })] });
  const patience = new AbortController();
  let said = "";
  channel.on("data", (chunk: Buffer) => {
    if (said.length < MAX_CHARACTERS) said += chunk.toString("utf8");
  });
  channel.on("error", () => {});
  stderr.resume();
  const closed = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  await Promise.race([closed, setTimeout(TIMEOUT_MS, undefined, { signal: patience.signal })]);
  patience.abort();
  killGroup(child.pid);
  return new Map(said.split("\n").flatMap((line) => readAttempt(line)));
}

function readAttempt(line: string): [string, ProbeAttempt][] {
  try {
    const { name, did, detail } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return [[String(name), { did: did !== false, detail: String(detail) }]];
  } catch {
    return [];
  }
}
