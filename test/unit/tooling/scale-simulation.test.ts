import { describe, expect, it } from "vitest";
import { type Outcome, type Scenario, simulate } from "../../../bench/scale/simulation.ts";

const base: Scenario = {
  seconds: 20,
  seed: 7,
  senders: 50,
  callsPerSecond: 10_000,
  bursts: { count: 0, times: 10, seconds: 2 },
  shards: 10,
  gateways: 1,
  gatewayPerSecond: 2_000,
  databasePerSecond: 2_000,
  maxWaiting: 500,
  router: "session",
  zones: 2,
  faults: [],
};
const run = (changes: Partial<Scenario> = {}): Outcome => simulate({ ...base, ...changes });
const lost = { unnoticedSeconds: 1, failoverSeconds: 3, backAfterSeconds: 3, atSecond: 5 };

describe("the simulation of many shards", () => {
  it("counts each call once: it is accepted, given up or open", () => {
    for (const changes of [{}, { router: "path" as const }, { faults: [{ ...lost, lost: "zone" as const }] }]) {
      const { offered, accepted, givenUp, open } = run(changes);
      expect(offered).toBeGreaterThan(190_000);
      expect(accepted + givenUp + open).toBe(offered);
      expect(open).toBeGreaterThanOrEqual(0);
    }
  });

  it("gives the same figures for a seed, and others for another", () => {
    expect(run()).toEqual(run());
    expect(run({ seed: 8 }).offered).not.toBe(run().offered);
  });

  it("accepts everything at once while a shard has room, and is asked for half of what it can", () => {
    const { offered, atOnce, busiestShard } = run();
    expect(atOnce / offered).toBeGreaterThan(0.999);
    expect(busiestShard).toBeCloseTo(0.5, 1);
  });

  it("refuses what a shard cannot carry: a sender that calls more than one shard takes, routed by its path", () => {
    const { offered, atOnce, busiestShard } = run({ router: "path" });
    expect(atOnce / offered).toBeLessThan(0.95);
    expect(busiestShard).toBeGreaterThan(1);
  });

  it("lets calls of a lost gateway and a lost zone be tried again until they are accepted", () => {
    for (const what of ["gateway", "zone"] as const) {
      const { offered, accepted, atOnce, p999Ms } = run({ seconds: 60, faults: [{ ...lost, lost: what }] });
      expect(atOnce).toBeLessThan(offered);
      expect(accepted / offered).toBeGreaterThan(0.999);
      expect(p999Ms).toBeGreaterThan(1_000);
    }
  });

  it("commits no more than the database of a shard, however many gateways it has", () => {
    const { accepted } = run({ gateways: 4, databasePerSecond: 500 });
    expect(accepted).toBeLessThanOrEqual(500 * base.shards * base.seconds);
  });
});
