import type { Throughput } from "./accept-throughput.ts";
import type { Finding } from "./finding.ts";

/** The rows of the experiments, as `docs/operate/openclaw.md` has them. */
export function findingsTable(findings: readonly Finding[]): string {
  const rows = findings.map(({ experiment, builtIn, reveille }) => `| ${experiment} | ${builtIn} | ${reveille} |`);
  return ["| experiment | built-in hooks | Reveille |", "|---|---|---|", ...rows].join("\n");
}

/** The rows of what accepting costs, as `docs/operate/openclaw.md` has them. */
export function throughputTable(rows: readonly Throughput[]): string {
  const lines = rows.map(({ what, requestsPerSecond, ofBare, p50Ms, p99Ms, cpuMicrosPerCall }) => {
    const figures = [
      Math.round(requestsPerSecond).toLocaleString("en"),
      ofBare.toFixed(2),
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      Math.round(cpuMicrosPerCall),
    ];
    return `| ${[what, ...figures].join(" | ")} |`;
  });
  return [
    "| what | req/s | of the bare route | p50 ms | p99 ms | CPU µs a call |",
    "|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}
