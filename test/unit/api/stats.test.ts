import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApiCall, ApiSources } from "../../../src/api/endpoint.ts";
import { statsEndpoint } from "../../../src/api/stats.ts";
import { Measurements } from "../../../src/core/measurements.ts";
import type { Answer } from "../../../src/http/answer.ts";
import type { DeliveryStats } from "../../../src/index.ts";

const HOUR = 3_600_000;
const NOW = 100 * 24 * HOUR;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const row = (at: number, name: string, deliveries: number) =>
  ({
    at,
    name,
    state: "done",
    deliveries,
    runs: 2 * deliveries,
    bytes: 1_000 * deliveries,
    tokens: 50 * deliveries,
    costUsd: 0.25 * deliveries,
  }) as const;

/** The endpoint over counts that take their time. */
function counting(read: () => Promise<DeliveryStats>) {
  const stats = {
    read: vi.fn((_query: { readonly bucketMs: number }) => read()),
    forecastBytes: (perDay: number) => 30 * perDay,
  };
  const operations = () => ({ stats, gauges: { measurements: new Measurements() } });
  const endpoint = statsEndpoint({ operations, clock: { now: () => NOW } } as unknown as ApiSources)[
    "deliveries/stats"
  ]!;
  const get = async (search: string): Promise<unknown> => {
    const answer = (await endpoint.GET!({ search } as ApiCall)) as Answer;
    return JSON.parse(answer.payload) as unknown;
  };
  return { stats, get };
}

describe("GET deliveries/stats", () => {
  it("sums the rows of a mapping, with what that is in a day", async () => {
    const rows = [row(NOW - HOUR, "build", 3), row(NOW - 2 * HOUR, "build", 1), row(NOW - HOUR, "wake", 1)];
    const { stats, get } = counting(async () => ({ rows, isCut: false }));
    expect(await get("since=12h")).toMatchObject({
      mappings: [
        {
          name: "build",
          deliveries: 4,
          runs: 8,
          states: { done: 4 },
          tokens: 200,
          costUsd: 1,
          perDay: { deliveries: 8, runs: 16, bytes: 8_000, tokens: 400, costUsd: 2 },
        },
        { name: "wake", deliveries: 1, perDay: { runs: 4 } },
      ],
      forecastBytes: 300_000,
    });
    expect(await get("since=12h&span=1h")).toMatchObject({ spanSeconds: 3_600, rows, isCut: false, refused: [] });
    expect(stats.read.mock.calls.map(([{ bucketMs }]) => bucketMs)).toEqual([12 * HOUR, HOUR]);
  });

  it("counts once for all who ask while it counts, however long that takes", async () => {
    const held = Promise.withResolvers<DeliveryStats>();
    const { stats, get } = counting(() => held.promise);
    const asked = [get("since=1h"), get("since=1h"), get("since=2h")];
    await vi.advanceTimersByTimeAsync(20_000);
    held.resolve({ rows: [], isCut: false });
    await Promise.all(asked);
    expect(stats.read).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(501);
    await get("since=1h");
    expect(stats.read).toHaveBeenCalledTimes(3);
  });

  it.each([
    [0, 500],
    [10_000, 3_500],
    [10_000_000, 120_000],
  ])("keeps what it counted of %i deliveries for %i ms", async (deliveries, goodMs) => {
    const { stats, get } = counting(async () => ({ rows: [row(NOW - HOUR, "build", deliveries)], isCut: false }));
    await get("since=1h");
    vi.advanceTimersByTime(goodMs - 1);
    await get("since=1h");
    expect(stats.read).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(2);
    await get("since=1h");
    expect(stats.read).toHaveBeenCalledTimes(2);
  });

  it("forgets a failure at once", async () => {
    let fails = true;
    const { get } = counting(async () => {
      if (fails) throw new Error("the store is closed");
      return { rows: [], isCut: false };
    });
    await expect(get("")).rejects.toThrow("the store is closed");
    fails = false;
    expect(await get("")).toMatchObject({ mappings: [] });
  });

  it.each([
    ["since=1h&until=2h", "since must be before until."],
    ["span=1w", "span must be one of 1m, 1h, 1d."],
    ["since=2d&span=1m", "The period has more than 1500 spans of 1m; take a longer span."],
    ["by=route", "unknown"],
  ])("refuses %s", async (search, message) => {
    const { get } = counting(async () => ({ rows: [], isCut: false }));
    await expect(get(search)).rejects.toThrow(message);
  });
});
