/**
 * Runs the suites of `test/openclaw` inside the real OpenClaw, one version of it after the other: all of them
 * in the newest, and those that depend on the version in the oldest that Reveille serves.
 *
 *   node scripts/test-openclaw.ts [--version <version of openclaw>] [--openclaw <folder of the package>] [-- <vitest arguments>]
 *
 * `--version` and `--openclaw` run all suites in that one only. The last lines say what each version came to.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { NEWEST_HOST, OLDEST_HOST } from "../src/hosts/openclaw/require-calls.ts";
import { prepareOpenClaw } from "../test/openclaw/prepare-openclaw.ts";
import type { PreparedOpenClaw } from "../test/openclaw/prepare-openclaw.ts";

const root = resolve(import.meta.dirname, "..");
/** In the oldest version: what differs between versions, which is how the host keeps the promises of its contract. */
const IN_THE_OLDEST = ["conformance", "hooks"].map((name) => `test/openclaw/${name}.test.ts`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { version: { type: "string" }, openclaw: { type: "string" } },
});

const lines: string[] = [];
const total = { passed: 0, failed: 0 };
if (values.version === undefined && values.openclaw === undefined) {
  runIn({ version: NEWEST_HOST }, positionals);
  runIn({ version: OLDEST_HOST }, positionals.length > 0 ? positionals : IN_THE_OLDEST);
} else {
  runIn(values, positionals);
}
for (const line of lines) console.log(line);
if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
const { TEST_TALLY_FILE: tallyFile } = process.env;
if (tallyFile) writeFileSync(tallyFile, `${total.passed} passed, ${total.failed} failed\n`);

/** Adds what came of this version to the total; a host that cannot be prepared counts as a failure. */
function runIn({ version, openclaw }: { version?: string; openclaw?: string }, args: readonly string[]): void {
  const options = {
    ...(version === undefined ? {} : { version }),
    ...(openclaw === undefined ? {} : { folder: openclaw }),
  };
  let name = version ?? openclaw;
  let counts = { passed: 0, failed: 1 };
  try {
    const prepared = prepareOpenClaw(options);
    name = prepared.version;
    console.log(`openclaw ${name}`);
    try {
      counts = runVitest(prepared, args);
    } finally {
      prepared.remove();
    }
  } catch (error) {
    console.error(error);
  }
  total.passed += counts.passed;
  total.failed += counts.failed;
  const failures = counts.failed === 0 ? "" : `, ${counts.failed} failed`;
  lines.push(`openclaw ${name}: ${counts.passed} tests passed${failures}`);
}

/** The counts of its tally; a run that ended badly, or without any test, counts as a failure. */
function runVitest({ environment }: PreparedOpenClaw, args: readonly string[]): { passed: number; failed: number } {
  const work = mkdtempSync(join(tmpdir(), "reveille-test-openclaw-"));
  const tally = join(work, "tally");
  try {
    const env = { ...process.env, ...environment, TEST_TALLY_FILE: tally };
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const command = [vitest, "run", "--config", join(root, "vitest.openclaw.config.ts"), ...args];
    const { status } = spawnSync(process.execPath, command, { cwd: root, env, stdio: "inherit" });
    const [passed = 0, failed = 0] = existsSync(tally)
      ? (readFileSync(tally, "utf8").match(/\d+/g)?.map(Number) ?? [])
      : [];
    return { passed, failed: status === 0 && passed > 0 ? failed : Math.max(failed, 1) };
  } finally {
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }
}
