/**
 * Runs scripts of package.json: `node scripts/run-steps.ts <script>... [-- <script>...]`.
 *
 * Scripts before `--` run two at a time, and each prints its output when it ends. Scripts after `--` run
 * one after another and print as they go. The first failure ends the run with exit status 1.
 * `node --run` saves the start of npm and its banner for each script.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";

const args = process.argv.slice(2);
const separator = args.includes("--") ? args.indexOf("--") : args.length;
const total = args.filter((arg) => arg !== "--").length;
const running = new Set<ChildProcess>();
let started = 0;

await runAll(args.slice(0, separator), Math.min(2, availableParallelism()));
for (const script of args.slice(separator + 1)) await run(script, { isLive: true });

/** Runs the scripts with at most `limit` of them at a time. */
async function runAll(scripts: readonly string[], limit: number): Promise<void> {
  const waiting = [...scripts];
  const lane = async (): Promise<void> => {
    for (let script = waiting.shift(); script !== undefined; script = waiting.shift()) {
      await run(script, { isLive: false });
    }
  };
  await Promise.all(Array.from({ length: limit }, lane));
}

async function run(script: string, { isLive }: { readonly isLive: boolean }): Promise<void> {
  started += 1;
  const heading = `[${started}/${total}] ${script}`;
  if (isLive) console.log(`\n${heading}`);
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, ["--run", script], { stdio: isLive ? "inherit" : ["ignore", "pipe", "pipe"] });
  running.add(child);
  const output: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => output.push(chunk));
  const cause = await new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (status, signal) => {
      if (status === 0) resolve(undefined);
      else resolve(signal === null ? `exit status ${status}` : `signal ${signal}`);
    });
  });
  running.delete(child);
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  if (!isLive) process.stdout.write(`\n${heading}\n${Buffer.concat(output).toString()}`);
  if (cause === undefined) {
    console.log(`${script} passed in ${seconds} s`);
    return;
  }
  console.error(`\n${script} failed after ${seconds} s: ${cause}`);
  for (const other of running) other.kill();
  process.exit(1);
}
