import { describe, expect, it } from "vitest";
import { Counts, Histogram, MinuteCounts } from "../../../src/core/measurements.ts";

describe("Counts", () => {
  it("counts each pair of labels by itself", () => {
    const counts = new Counts();
    counts.add("build", "queued");
    counts.add("build", "queued");
    counts.add("build", "filtered");
    expect([...counts.all()]).toEqual([
      { labels: ["build", "queued"], count: 2 },
      { labels: ["build", "filtered"], count: 1 },
    ]);
  });

  it("counts what comes after 1,000 series together, so that no caller can make them grow", () => {
    const counts = new Counts();
    for (let at = 0; at < 5_000; at++) counts.add(`route ${at}`, "queued");
    counts.add("route 1", "queued");
    const all = [...counts.all()];
    expect(all).toHaveLength(1_001);
    expect(all.at(-1)).toEqual({ labels: ["other", "other"], count: 4_000 });
    expect(all[1]).toEqual({ labels: ["route 1", "queued"], count: 2 });
  });
});

describe("MinuteCounts", () => {
  const MINUTE_MS = 60_000;
  const start = 1_000_000 * MINUTE_MS;

  it("counts by minute, and forgets what is older than a day", () => {
    const counts = new MinuteCounts();
    for (const at of [0, 1, 59_999, MINUTE_MS]) counts.add(start + at);
    expect(counts.since(start, start + MINUTE_MS)).toEqual([
      { at: start, count: 3 },
      { at: start + MINUTE_MS, count: 1 },
    ]);
    expect(counts.since(start + MINUTE_MS, start + MINUTE_MS)).toHaveLength(1);
    const dayLater = start + 1_440 * MINUTE_MS;
    expect(counts.since(0, dayLater)).toEqual([{ at: start + MINUTE_MS, count: 1 }]);
    counts.add(dayLater);
    expect(counts.since(0, dayLater).map(({ count }) => count)).toEqual([1, 1]);
  });
});

describe("Histogram", () => {
  it("puts a value in the first bucket whose bound it does not exceed, and the rest above all", () => {
    const histogram = new Histogram([1, 10]);
    for (const value of [0.5, 1, 1.5, 10, 11, 1_000]) histogram.observe(value);
    expect([...histogram.all()]).toEqual([{ labels: [""], counts: [2, 2, 2], sum: 1_024 }]);
  });

  it("keeps the distributions of labels apart", () => {
    const histogram = new Histogram([1]);
    histogram.observe(1, "main", "ok");
    histogram.observe(2, "main", "error");
    expect(Array.from(histogram.all(), ({ labels, counts }) => [...labels, ...counts])).toEqual([
      ["main", "ok", 1, 0],
      ["main", "error", 0, 1],
    ]);
  });
});
