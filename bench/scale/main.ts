/**
 * `npm run bench -- scale`: a million calls a second of 1,000 senders, by the figures of the benchmark, and what a burst,
 * a lost gateway and a lost zone cost. docs/operate/scaling.md has the table.
 */
import { type Fault, type Scenario, simulate } from "./simulation.ts";

/** Calls a second that one gateway commits on SQLite: between the 7,700 of RESULTS.md and the 12,800 of a faster machine. */
const GATEWAY_PER_SECOND = 10_000;
/** Of the capacity, what a minute without faults is to leave free. */
const HEADROOM = 0.5;
const CALLS_PER_SECOND = 1_000_000;

/** A gateway is started again elsewhere, where it waits for the lock of the database. */
const gateway: Fault = { lost: "gateway", atSecond: 20, unnoticedSeconds: 2, failoverSeconds: 0, backAfterSeconds: 15 };
const zone: Fault = { lost: "zone", atSecond: 20, unnoticedSeconds: 5, failoverSeconds: 30, backAfterSeconds: 30 };

const base: Scenario = {
  seconds: 120,
  seed: 19,
  senders: 1_000,
  callsPerSecond: CALLS_PER_SECOND,
  bursts: { count: 0, times: 10, seconds: 5 },
  shards: Math.ceil(CALLS_PER_SECOND / GATEWAY_PER_SECOND / (1 - HEADROOM)),
  gateways: 1,
  gatewayPerSecond: GATEWAY_PER_SECOND,
  databasePerSecond: GATEWAY_PER_SECOND,
  maxWaiting: 512,
  router: "session",
  zones: 3,
  faults: [],
};
const bursts = { count: 50, times: 10, seconds: 5 };

const scenarios: readonly (readonly [string, Partial<Scenario>])[] = [
  ["by path", { router: "path" }],
  ["by session", {}],
  ["by session, 50 senders burst", { bursts }],
  ["by session, bursts, a gateway is lost", { bursts, faults: [gateway] }],
  ["by session, bursts, a zone is lost", { bursts, faults: [zone] }],
  ["by session, bursts, a zone is lost, twice the shards", { bursts, faults: [zone], shards: base.shards * 2 }],
];

console.log(
  "| what | shards | offered | accepted at once | accepted | given up | p50 ms | p99 ms | p99.9 ms | busiest shard |",
);
console.log("|---|---|---|---|---|---|---|---|---|---|");
for (const [name, changes] of scenarios) {
  const scenario = { ...base, ...changes };
  const { offered, accepted, atOnce, givenUp, p50Ms, p99Ms, p999Ms, busiestShard } = simulate(scenario);
  const share = (count: number): string => `${((100 * count) / offered).toFixed(2)} %`;
  const cells = [
    name,
    scenario.shards,
    offered.toLocaleString("en"),
    share(atOnce),
    share(accepted),
    givenUp.toLocaleString("en"),
    p50Ms,
    p99Ms,
    p999Ms,
    busiestShard.toFixed(2),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
