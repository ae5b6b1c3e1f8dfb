import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { prepareOpenClaw } from "../../test/openclaw/prepare-openclaw.ts";
import { measureThroughput } from "./accept-throughput.ts";
import type { Throughput } from "./accept-throughput.ts";
import { measureAgents } from "./agents.ts";
import { BenchHost } from "./bench-host.ts";
import { measureCrashes } from "./crashes.ts";
import type { Finding } from "./finding.ts";
import { measureFlood } from "./flood.ts";
import { findingsTable, throughputTable } from "./result-table.ts";
import { measureSettings } from "./settings.ts";
import { measureWakes } from "./wakes.ts";

const PARTS = ["wakes", "agents", "crashes", "flood", "settings", "throughput"] as const;
type Part = (typeof PARTS)[number];

const FULL = {
  wakes: { burst: 200, paced: 60 },
  agents: { concurrent: 100, inOneSession: 8 },
  crashes: { kills: 20 },
  flood: { durationMs: 10_000 },
  throughput: { rounds: 5, warmupMs: 1_000, durationMs: 4_000 },
};
const QUICK = {
  wakes: { burst: 30, paced: 10 },
  agents: { concurrent: 10, inOneSession: 3 },
  crashes: { kills: 2 },
  flood: { durationMs: 2_000 },
  throughput: { rounds: 1, warmupMs: 500, durationMs: 2_000 },
};

/**
 * `npm run bench -- openclaw`: Reveille beside the host's built-in hooks, both on in one gateway, with a model
 * and a Bot API on loopback. Prints the tables of `docs/operate/openclaw.md` and resolves with the exit code: 1 when
 * Reveille has lost or doubled anything.
 *
 *   --quick            smaller numbers
 *   --only a,b         some of the parts, in any order of wakes, agents, crashes, flood, settings, throughput
 *   --json <file>      the figures
 *   --openclaw <dir>   a folder of the package `openclaw`, instead of the newest version
 *   --unpinned         the gateway may use every core while its throughput is measured
 */
export async function runOpenClawBench(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: PARTS.join(",") },
      json: { type: "string" },
      openclaw: { type: "string" },
      unpinned: { type: "boolean", default: false },
    },
  });
  const chosen = chosenParts(values.only);
  const prepared = prepareOpenClaw(values.openclaw === undefined ? {} : { folder: values.openclaw });
  Object.assign(process.env, prepared.environment);
  const host = await BenchHost.open(prepared.home);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= host.stop().finally(() => prepared.remove()));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void close().finally(() => process.exit(1)));
  }
  const findings: Finding[] = [];
  let throughput: Throughput[] = [];
  const begunAt = performance.now();
  try {
    const size = values.quick ? QUICK : FULL;
    for (const part of chosen) {
      if (part === "wakes") findings.push(...(await measureWakes(host, size.wakes)));
      if (part === "agents") findings.push(...(await measureAgents(host, size.agents)));
      if (part === "crashes") findings.push(...(await measureCrashes(host, size.crashes)));
      if (part === "flood") findings.push(...(await measureFlood(host, size.flood)));
      if (part === "settings") findings.push(...(await measureSettings(host)));
      if (part === "throughput") {
        throughput = await measureThroughput(host, { ...size.throughput, isPinned: !values.unpinned });
      }
    }
  } finally {
    await close();
  }
  const minutes = Math.ceil((performance.now() - begunAt) / 60_000);
  const facts = machineFacts(prepared.version, minutes);
  const failures = findings.flatMap((finding) => finding.failures);
  if (findings.length > 0) console.log(`${findingsTable(findings)}\n`);
  if (throughput.length > 0) console.log(`${throughputTable(throughput)}\n`);
  console.log(facts);
  for (const failure of failures) console.error(`FAILED: ${failure}`);
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ facts, findings, throughput, failures }, undefined, 2)}\n`);
  }
  return failures.length === 0 ? 0 : 1;
}

function chosenParts(only: string): ReadonlySet<Part> {
  const names = only.split(",").map((name) => name.trim());
  const known = (name: string): name is Part => PARTS.some((part) => part === name);
  const unknown = names.filter((name) => !known(name));
  if (unknown.length > 0) throw new Error(`There is no part ${unknown.join(", ")}; known are ${PARTS.join(", ")}.`);
  return new Set(names.filter(known));
}

function machineFacts(version: string, minutes: number): string {
  const today = new Date().toISOString().slice(0, 10);
  const cores = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})`;
  const how =
    "Throughput: the gateway on one core, the load on the other, 32 connections, 1 KiB, `concurrency: 1` with one run under way and the queue's bound out of the way; medians of the rounds, each ratio to the bare route right before and after.";
  return `Measured ${today} in ${minutes} minutes with openclaw ${version}, Node ${process.versions.node}, ${cores}. ${how}`;
}
