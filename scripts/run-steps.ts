/**
 * Runs scripts of package.json one after another, each under a heading, and stops at the first that fails
 * with its exit status: `node scripts/run-steps.ts <script> <script> ...`. It uses `node --run`, which spares
 * the start of npm and its banners for each step.
 */
import { spawnSync } from "node:child_process";

const steps = process.argv.slice(2);
const isTerminal = process.stdout.isTTY;

for (const [index, step] of steps.entries()) {
  const heading = `[${index + 1}/${steps.length}] ${step}`;
  console.log(isTerminal ? `\n\u001B[1m${heading}\u001B[22m` : `\n${heading}`);
  const startedAtMs = performance.now();
  const { status, signal, error } = spawnSync(process.execPath, ["--run", step], { stdio: "inherit" });
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  if (status !== 0) {
    const cause = error?.message ?? (signal === null ? `exit status ${status}` : `signal ${signal}`);
    console.error(`\n${step} failed after ${seconds} s: ${cause}`);
    process.exit(status ?? 1);
  }
  console.log(`${step} passed in ${seconds} s`);
}
