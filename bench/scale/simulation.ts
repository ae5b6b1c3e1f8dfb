/**
 * A discrete simulation of many senders in front of many shards, each a database with its gateways. Time goes in steps;
 * calls of a sender in one step are one cohort, so that a million a second are a few thousand numbers.
 */

import { SeededRandom } from "../../test/torture/seeded-random.ts";

export interface Scenario {
  readonly seconds: number;
  readonly seed: number;
  readonly senders: number;
  /** Calls a second of all senders together; the first one calls most (Zipf). */
  readonly callsPerSecond: number;
  /** Senders that call `bursts.times` as often, each for `bursts.seconds`, at random times. */
  readonly bursts: { readonly count: number; readonly times: number; readonly seconds: number };
  readonly shards: number;
  /** Gateways of a shard, in one zone each in turn. */
  readonly gateways: number;
  /** Calls a second that a gateway, and that a database, can commit. */
  readonly gatewayPerSecond: number;
  readonly databasePerSecond: number;
  /** Calls that a gateway lets wait; what comes on top is answered 503. */
  readonly maxWaiting: number;
  /** `path`: a sender has one shard; `session`: its sessions are spread over all. */
  readonly router: "path" | "session";
  readonly zones: number;
  readonly faults: readonly Fault[];
}

export interface Fault {
  /** A gateway of the first shard, or the first zone with its gateways and the primaries of its databases. */
  readonly lost: "gateway" | "zone";
  readonly atSecond: number;
  /** Until the router leaves it out. */
  readonly unnoticedSeconds: number;
  /** Until a standby of its databases is promoted. */
  readonly failoverSeconds: number;
  readonly backAfterSeconds: number;
}

export interface Outcome {
  readonly offered: number;
  readonly accepted: number;
  /** Of the offered, with their first try. */
  readonly atOnce: number;
  readonly givenUp: number;
  /** Neither accepted nor given up at the end. */
  readonly open: number;
  /** From the first try to the answer that it is accepted. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** The shard that was asked most, of what it can commit. */
  readonly busiestShard: number;
}

const STEP_MS = 10;
const STEPS_A_SECOND = 1_000 / STEP_MS;
/** As senders do: each wait twice as long, and up to as long again. */
const FIRST_RETRY_MS = 1_000;
const MAX_TRIES = 8;

interface Cohort {
  readonly count: number;
  readonly firstStep: number;
  readonly tries: number;
}

interface Gateway {
  readonly zone: number;
  readonly waiting: Cohort[];
  waitingCount: number;
}

interface Shard {
  readonly index: number;
  readonly primaryZone: number;
  readonly gateways: readonly Gateway[];
  asked: number;
}

export function simulate(scenario: Scenario): Outcome {
  return new Simulation(scenario).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #random: SeededRandom;
  readonly #shards: readonly Shard[];
  readonly #rates: readonly number[];
  readonly #bursts: ReadonlyMap<number, number>;
  /** Cohorts by the step of their next try, with the shard of their sessions. */
  readonly #retries = new Map<number, { readonly shard: Shard; readonly cohort: Cohort }[]>();
  /** Accepted calls by the steps that they took. */
  readonly #waits = new Map<number, number>();
  #offered = 0;
  #accepted = 0;
  #atOnce = 0;
  #givenUp = 0;
  #step = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#random = new SeededRandom(scenario.seed);
    this.#shards = Array.from({ length: scenario.shards }, (_, index) => ({
      index,
      primaryZone: index % scenario.zones,
      asked: 0,
      gateways: Array.from({ length: scenario.gateways }, (__, gateway) => ({
        zone: (index + gateway) % scenario.zones,
        waiting: [],
        waitingCount: 0,
      })),
    }));
    const weights = Array.from({ length: scenario.senders }, (_, rank) => 1 / (rank + 1));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    this.#rates = weights.map((weight) => (scenario.callsPerSecond * weight) / total / STEPS_A_SECOND);
    this.#bursts = new Map(
      Array.from({ length: scenario.bursts.count }, () => [
        Math.floor(this.#random.next() * scenario.senders),
        Math.floor(this.#random.next() * scenario.seconds * STEPS_A_SECOND),
      ]),
    );
  }

  run(): Outcome {
    const { seconds, gateways, gatewayPerSecond, databasePerSecond } = this.#scenario;
    for (; this.#step < seconds * STEPS_A_SECOND; this.#step++) {
      this.#offer();
      for (const { shard, cohort } of this.#retries.get(this.#step) ?? []) this.#ask(shard, cohort);
      this.#retries.delete(this.#step);
      for (const shard of this.#shards) this.#commit(shard);
    }
    const capacity = Math.min(gateways * gatewayPerSecond, databasePerSecond) * seconds;
    const [p50Ms, p99Ms, p999Ms] = this.#percentiles(0.5, 0.99, 0.999);
    return {
      offered: this.#offered,
      accepted: this.#accepted,
      atOnce: this.#atOnce,
      givenUp: this.#givenUp,
      open: this.#offered - this.#accepted - this.#givenUp,
      p50Ms: p50Ms!,
      p99Ms: p99Ms!,
      p999Ms: p999Ms!,
      busiestShard: Math.max(...this.#shards.map(({ asked }) => asked)) / capacity,
    };
  }

  /** What senders call in this step is one cohort for each shard. */
  #offer(): void {
    const { bursts, shards, router } = this.#scenario;
    const counts = Array.from({ length: shards }, () => 0);
    let spread = 0;
    for (const [sender, rate] of this.#rates.entries()) {
      const began = this.#bursts.get(sender);
      const isBursting =
        began !== undefined && this.#step >= began && this.#step < began + bursts.seconds * STEPS_A_SECOND;
      const count = this.#arrivals(isBursting ? rate * bursts.times : rate);
      this.#offered += count;
      if (router === "path") counts[hash(sender) % shards]! += count;
      else spread += count;
    }
    // The sessions of all senders are spread over the shards.
    const first = this.#random.between(0, shards - 1);
    for (let at = 0; at < shards; at++) {
      counts[(first + at) % shards]! += Math.floor(spread / shards) + (at < spread % shards ? 1 : 0);
    }
    for (const shard of this.#shards) {
      this.#ask(shard, { count: counts[shard.index]!, firstStep: this.#step, tries: 1 });
    }
  }

  /** A whole number around the mean: its fraction by chance, and the noise of a Poisson process. */
  #arrivals(mean: number): number {
    const noise = (this.#random.next() + this.#random.next() + this.#random.next() - 1.5) * 2 * Math.sqrt(mean);
    const value = Math.max(0, mean + noise);
    return Math.floor(value) + (this.#random.next() < value % 1 ? 1 : 0);
  }

  /** The router spreads calls over the gateways that it takes for alive. */
  #ask(shard: Shard, cohort: Cohort): void {
    if (cohort.count === 0) return;
    shard.asked += cohort.count;
    const known = shard.gateways.filter((gateway) => !this.#isLeftOut(shard, gateway));
    if (known.length === 0) {
      this.#refuse(shard, cohort);
      return;
    }
    const first = Math.floor(this.#random.next() * known.length);
    for (const [at, gateway] of known.entries()) {
      const part = Math.floor(cohort.count / known.length);
      const count = part + ((at + first) % known.length < cohort.count % known.length ? 1 : 0);
      if (count === 0) continue;
      const room = this.#isLost(shard, gateway) ? 0 : this.#scenario.maxWaiting - gateway.waitingCount;
      const taken = Math.min(count, Math.max(0, room));
      if (taken > 0) {
        gateway.waiting.push({ ...cohort, count: taken });
        gateway.waitingCount += taken;
      }
      if (count > taken) this.#refuse(shard, { ...cohort, count: count - taken });
    }
  }

  #refuse(shard: Shard, { count, firstStep, tries }: Cohort): void {
    if (tries === MAX_TRIES) {
      this.#givenUp += count;
      return;
    }
    const waitMs = FIRST_RETRY_MS * 2 ** (tries - 1) * (1 + this.#random.next());
    const step = this.#step + Math.ceil(waitMs / STEP_MS);
    const due = this.#retries.get(step) ?? [];
    due.push({ shard, cohort: { count, firstStep, tries: tries + 1 } });
    this.#retries.set(step, due);
  }

  #commit(shard: Shard): void {
    const { gatewayPerSecond, databasePerSecond } = this.#scenario;
    const isDown = this.#scenario.faults.some(
      (fault) => fault.lost === "zone" && shard.primaryZone === 0 && this.#isWithin(fault, fault.failoverSeconds),
    );
    let left = isDown ? 0 : databasePerSecond / STEPS_A_SECOND;
    for (const gateway of shard.gateways) {
      if (this.#isLost(shard, gateway)) {
        // Connections break: their senders try again.
        for (const cohort of gateway.waiting.splice(0)) this.#refuse(shard, cohort);
        gateway.waitingCount = 0;
        continue;
      }
      left -= this.#take(gateway, Math.min(left, gatewayPerSecond / STEPS_A_SECOND));
    }
  }

  /** Accepts the oldest; returns how many. */
  #take(gateway: Gateway, most: number): number {
    let taken = 0;
    while (gateway.waiting.length > 0 && taken < Math.floor(most)) {
      const cohort = gateway.waiting[0]!;
      const count = Math.min(cohort.count, Math.floor(most) - taken);
      taken += count;
      if (count === cohort.count) gateway.waiting.shift();
      else gateway.waiting[0] = { ...cohort, count: cohort.count - count };
      const steps = this.#step - cohort.firstStep + 1;
      this.#waits.set(steps, (this.#waits.get(steps) ?? 0) + count);
      this.#accepted += count;
      if (cohort.tries === 1) this.#atOnce += count;
    }
    gateway.waitingCount -= taken;
    return taken;
  }

  #isLost(shard: Shard, gateway: Gateway): boolean {
    return this.#faultsOf(shard, gateway).some((fault) => this.#isWithin(fault, fault.backAfterSeconds));
  }

  #isLeftOut(shard: Shard, gateway: Gateway): boolean {
    return this.#faultsOf(shard, gateway).some(
      (fault) => this.#isWithin(fault, fault.backAfterSeconds) && !this.#isWithin(fault, fault.unnoticedSeconds),
    );
  }

  #faultsOf(shard: Shard, gateway: Gateway): readonly Fault[] {
    return this.#scenario.faults.filter(({ lost }) =>
      lost === "zone" ? gateway.zone === 0 : shard.index === 0 && gateway === shard.gateways[0],
    );
  }

  #isWithin({ atSecond }: Fault, seconds: number): boolean {
    const since = this.#step - atSecond * STEPS_A_SECOND;
    return since >= 0 && since < seconds * STEPS_A_SECOND;
  }

  #percentiles(...parts: readonly number[]): number[] {
    const sorted = [...this.#waits].toSorted(([left], [right]) => left - right);
    return parts.map((part) => {
      let seen = 0;
      const found = sorted.find(([, count]) => (seen += count) >= part * this.#accepted);
      return (found?.[0] ?? 0) * STEP_MS;
    });
  }
}

/** A fixed number that looks like chance, for a sender's shard. */
function hash(sender: number): number {
  return Math.imul(sender + 1, 0x9e3779b1) >>> 8;
}
