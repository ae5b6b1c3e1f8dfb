/** A flood of agent calls: how many of them are accepted in a second. */
import { runLoad } from "../run-load.ts";
import type { BenchHost } from "./bench-host.ts";
import { seconds } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { BUILT_IN, REVEILLE, SIDES } from "./side.ts";
import type { Side } from "./side.ts";

export interface FloodOptions {
  readonly durationMs: number;
}

interface Flooded {
  /** Calls answered with a status of success, in a second. */
  readonly acceptedPerSecond: number;
  readonly p99Ms: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const CONNECTIONS = 32;
const BODY = JSON.stringify({ name: "Flood", message: "Carry on [say flood]" });

/** The model answers at once; what was accepted is not waited for. */
export async function measureFlood(host: BenchHost, { durationMs }: FloodOptions): Promise<Finding[]> {
  const experiment = `${CONNECTIONS} connections calling \`/agent\` for ${durationMs / 1_000} s, model at once`;
  const found: Partial<Record<Side["name"], Flooded>> = {};
  for (const side of SIDES) {
    await host.restart({});
    found[side.name] = await flood(host, side, durationMs);
    console.error(`${experiment}, ${side.name}: ${JSON.stringify(found[side.name])}`);
    // Thousands of runs would follow.
    await host.forget();
  }
  const { [BUILT_IN.name]: builtIn, [REVEILLE.name]: reveille } = found as Record<Side["name"], Flooded>;
  const others = Object.keys(reveille.statuses).filter((status) => status !== "202");
  return [
    {
      experiment,
      builtIn: inWords(builtIn),
      reveille: inWords(reveille),
      failures: others.length === 0 ? [] : [`${experiment}: Reveille has answered ${others.join(", ")} as well.`],
      figures: found,
    },
  ];
}

async function flood(host: BenchHost, side: Side, durationMs: number): Promise<Flooded> {
  const headers = { authorization: `Bearer ${side.token}` };
  const path = `${side.prefix}/agent`;
  const load = { port: host.port, pid: await host.pid(), path, headers, body: BODY, connections: CONNECTIONS };
  const { statuses, p99Ms } = await runLoad({ ...load, warmupMs: 0, durationMs });
  const accepted = (statuses["200"] ?? 0) + (statuses["202"] ?? 0);
  return { acceptedPerSecond: (accepted / durationMs) * 1_000, p99Ms, statuses };
}

function inWords({ acceptedPerSecond, p99Ms, statuses }: Flooded): string {
  const others = Object.entries(statuses).filter(([status]) => status !== "200" && status !== "202");
  const refused = others.map(([status, count]) => `, ${count} × ${status}`).join("");
  const rate =
    acceptedPerSecond < 10 ? acceptedPerSecond.toFixed(1) : Math.round(acceptedPerSecond).toLocaleString("en");
  const p99 = acceptedPerSecond === 0 ? "" : ` (p99 ${seconds(p99Ms)})`;
  return `**${rate}** accepted in a second${p99}${refused}`;
}
