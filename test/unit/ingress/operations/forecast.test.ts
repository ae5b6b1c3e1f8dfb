import { describe, expect, it } from "vitest";
import { forecastRuns } from "../../../../src/ingress/operations/forecast.ts";
import type { Backtested } from "../../../../src/ingress/operations/preview.ts";
import type { MappingStats } from "../../../../src/ingress/operations/stats.ts";

/** Counts of two days. */
function stats(name: string, runs: number, { tokens = 0, costUsd = 0 } = {}): MappingStats {
  const counts = { deliveries: runs, runs, bytes: 0, tokens, costUsd };
  const perDay = { deliveries: runs / 2, runs: runs / 2, bytes: 0, tokens: tokens / 2, costUsd: costUsd / 2 };
  return { name, ...counts, states: {}, perDay };
}

function judged(route: string, before: Backtested["before"], now = before): Backtested {
  return { deliveryId: "dlv", receivedAt: "", route, name: route, change: "same", detail: "", before, now };
}

describe("the forecast of a backtest", () => {
  it("is what the judged deliveries come to in a day, at the cost that runs of the mapping had", () => {
    const build = { mappingId: "build", runs: 1 };
    const deliveries = [judged("b", build), judged("b", build, { mappingId: "build", runs: 3 }), judged("b", build)];
    expect(forecastRuns(deliveries, [stats("build", 4, { tokens: 400, costUsd: 2 })])).toEqual([
      {
        name: "build",
        before: { runs: 1.5, tokens: 150, costUsd: 0.75 },
        now: { runs: 2.5, tokens: 250, costUsd: 1.25 },
      },
    ]);
  });

  it("takes the average of all runs for a mapping that had none, and the route for a direct call", () => {
    const direct = { mappingId: null, runs: 1 };
    const deliveries = [judged("agent", direct, { mappingId: "new", runs: 1 })];
    expect(forecastRuns(deliveries, [stats("agent", 2, { tokens: 20 }), stats("other", 2, { tokens: 60 })])).toEqual([
      { name: "agent", before: { runs: 0.5, tokens: 5, costUsd: 0 }, now: { runs: 0, tokens: 0, costUsd: 0 } },
      { name: "new", before: { runs: 0, tokens: 0, costUsd: 0 }, now: { runs: 0.5, tokens: 10, costUsd: 0 } },
    ]);
  });

  it("is empty when nothing was counted", () => {
    expect(forecastRuns([], [])).toEqual([]);
  });
});
