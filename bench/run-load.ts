import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { callBody } from "./call-body.ts";
import type { LoadOptions, LoadResult } from "./load.ts";
import { HOOK_TOKEN, pinned, startBare } from "./servers.ts";
import type { RunningServer } from "./servers.ts";

export type LoadTiming = Pick<LoadOptions, "connections" | "warmupMs" | "durationMs">;

/** Puts a load on a server, from the second core unless another is named. */
export async function runLoad(options: LoadOptions, core = 1): Promise<LoadResult> {
  return JSON.parse(await runScript(core, "load.ts", [JSON.stringify(options)])) as LoadResult;
}

/** The same call with the hook token, again and again. */
export function loadWithToken(
  { port, pid }: RunningServer,
  path: string,
  { connections, warmupMs, durationMs }: LoadTiming,
  more: Partial<LoadOptions> = {},
): Promise<LoadResult> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}` };
  return runLoad({ port, pid, path, headers, body: callBody(4711), connections, warmupMs, durationMs, ...more });
}

/** The same load on a new bare server. */
export async function loadBare(timing: LoadTiming): Promise<LoadResult> {
  const server = await startBare();
  const result = await loadWithToken(server, "/hooks/wake", timing);
  await server.stop();
  return result;
}

/** Runs a script of this folder on one core to its end, and gives what it printed. */
export async function runScript(core: number, script: string, args: readonly string[]): Promise<string> {
  const [command, commandArgs] = pinned(core, [fileURLToPath(new URL(script, import.meta.url)), ...args]);
  const child = spawn(command, commandArgs, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${script} ended with ${String(code)}.`);
  return text;
}

/** Throws when a figure would be that of refused calls, or of repeated ones, which run nothing. */
export function refuseFailures(name: string, { statuses, distinct }: LoadResult): void {
  const failed = Object.keys(statuses).filter((status) => !status.startsWith("2"));
  if (Object.keys(statuses).length === 0) throw new Error(`${name}: no call was answered while it was measured.`);
  if (failed.length > 0) throw new Error(`${name}: not all calls were accepted: ${JSON.stringify(statuses)}`);
  if (distinct === undefined) return;
  const { answers, deliveries } = distinct;
  if (deliveries !== answers) {
    throw new Error(`${name}: ${answers} answers named ${deliveries} deliveries; each must be a new one.`);
  }
}
