import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Lockout } from "../../../src/auth/lockout.ts";
import type { LockoutConfig } from "../../../src/config/lockout.ts";

const CONFIG: LockoutConfig = { failures: 20, windowMs: 60_000, lockMs: 60_000, maxClients: 10_000 };

/** A lockout at a time that the test sets. */
function lockoutAt(nowMs: number, config: Partial<LockoutConfig> = {}) {
  const clock = { nowMs, now: () => clock.nowMs };
  return { clock, lockout: new Lockout({ ...CONFIG, ...config }, { clock }) };
}

function failTimes(lockout: Lockout, key: string, times: number): (number | undefined)[] {
  return Array.from({ length: times }, () => lockout.fail(key));
}

describe("spec 5.5: failures are rate-limited per client address", () => {
  test("spec 5.5: 20 failures in 60 seconds lock the address, from the 21st on", () => {
    const { lockout } = lockoutAt(1_000_000);
    expect(failTimes(lockout, "192.0.2.1", 20)).toEqual(Array.from({ length: 20 }));
    expect(lockout.fail("192.0.2.1")).toBe(60);
  });

  test("spec 5.5: other addresses are not locked with it", () => {
    const { lockout } = lockoutAt(1_000_000);
    failTimes(lockout, "192.0.2.1", 21);
    expect(lockout.fail("192.0.2.2")).toBeUndefined();
  });

  test("spec 5.5: Retry-After counts down in whole seconds, rounded up, at least 1", () => {
    const { lockout, clock } = lockoutAt(1_000_000);
    failTimes(lockout, "192.0.2.1", 20);
    clock.nowMs += 1;
    expect(lockout.fail("192.0.2.1")).toBe(60);
    clock.nowMs += 999;
    expect(lockout.fail("192.0.2.1")).toBe(59);
    clock.nowMs += 58_999;
    expect(lockout.fail("192.0.2.1")).toBe(1);
  });

  test("tries during the lock do not lengthen it, and after it the count begins at nothing", () => {
    const { lockout, clock } = lockoutAt(1_000_000);
    failTimes(lockout, "192.0.2.1", 20);
    for (let second = 0; second < 59; second++) {
      clock.nowMs += 1000;
      expect(lockout.fail("192.0.2.1")).toBe(59 - second);
    }
    clock.nowMs += 1000;
    expect(failTimes(lockout, "192.0.2.1", 20)).toEqual(Array.from({ length: 20 }));
    expect(lockout.fail("192.0.2.1")).toBe(60);
  });

  test("the window slides: the 20th failure locks only while the first is less than 60 seconds old", () => {
    const { lockout, clock } = lockoutAt(1_000_000);
    lockout.fail("192.0.2.1");
    clock.nowMs += 30_000;
    failTimes(lockout, "192.0.2.1", 18);
    clock.nowMs += 30_000;
    expect(lockout.fail("192.0.2.1")).toBeUndefined();
    expect(lockout.fail("192.0.2.1")).toBeUndefined();
    expect(lockout.fail("192.0.2.1")).toBe(60);
  });

  test("a success forgets the failures of its address", () => {
    const { lockout } = lockoutAt(1_000_000);
    failTimes(lockout, "192.0.2.1", 19);
    lockout.succeed("192.0.2.1");
    expect(lockout.size).toBe(0);
    expect(failTimes(lockout, "192.0.2.1", 20)).toEqual(Array.from({ length: 20 }));
  });

  test("a success ends the lock of its address, and of no other", () => {
    const { lockout } = lockoutAt(1_000_000);
    failTimes(lockout, "192.0.2.1", 21);
    failTimes(lockout, "192.0.2.2", 21);
    lockout.succeed("192.0.2.1");
    lockout.succeed("192.0.2.3");
    expect(lockout.fail("192.0.2.1")).toBeUndefined();
    expect(lockout.fail("192.0.2.2")).toBe(60);
  });

  test("a success without an earlier failure is ignored", () => {
    const { lockout } = lockoutAt(1_000_000);
    lockout.succeed("192.0.2.1");
    expect(lockout.size).toBe(0);
  });
});

describe("memory is bounded at any number of addresses", () => {
  test("100,000 addresses take no more room than is configured", () => {
    const { lockout } = lockoutAt(1_000_000, { maxClients: 1000 });
    for (let index = 0; index < 100_000; index++) lockout.fail(`address-${index}`);
    expect(lockout.size).toBe(1000);
  });

  test("addresses whose failures left the window and whose lock expired are forgotten", () => {
    const { lockout, clock } = lockoutAt(1_000_000);
    failTimes(lockout, "locked", 20);
    for (let index = 0; index < 500; index++) lockout.fail(`address-${index}`);
    clock.nowMs += 60_000;
    lockout.fail("192.0.2.1");
    expect(lockout.size).toBe(1);
  });

  test("in a full table the address that failed longest ago makes room, a locked one never", () => {
    const { lockout, clock } = lockoutAt(1_000_000, { maxClients: 3, failures: 2 });
    failTimes(lockout, "locked", 2);
    lockout.fail("first");
    clock.nowMs += 1;
    lockout.fail("second");
    lockout.fail("third");
    expect(lockout.size).toBe(3);
    expect(lockout.fail("locked")).toBe(60);
    // `second` has failed once and is remembered: it is locked now. `first` begins again.
    expect(lockout.fail("second")).toBeUndefined();
    expect(lockout.fail("second")).toBe(60);
    expect(lockout.fail("first")).toBeUndefined();
    expect(lockout.fail("first")).toBeUndefined();
    expect(lockout.fail("first")).toBe(60);
  });

  test("when all are locked, every other address waits for the first that comes free", () => {
    const { lockout, clock } = lockoutAt(1_000_000, { maxClients: 2, failures: 1 });
    lockout.fail("a");
    clock.nowMs += 10_000;
    lockout.fail("b");
    expect(lockout.fail("c")).toBe(50);
    expect(lockout.size).toBe(2);
    clock.nowMs += 50_000;
    expect(lockout.fail("c")).toBeUndefined();
    expect(lockout.fail("c")).toBe(60);
    expect(lockout.fail("b")).toBe(10);
  });
});

describe("a clock that is set back", () => {
  test("does not lengthen a lock beyond its time", () => {
    const { lockout, clock } = lockoutAt(10_000_000);
    failTimes(lockout, "192.0.2.1", 21);
    clock.nowMs -= 3_600_000;
    expect(lockout.fail("192.0.2.1")).toBeUndefined();
    failTimes(lockout, "192.0.2.1", 19);
    expect(lockout.fail("192.0.2.1")).toBe(60);
  });

  test("does not keep failures of the future", () => {
    const { lockout, clock } = lockoutAt(10_000_000);
    failTimes(lockout, "192.0.2.1", 19);
    clock.nowMs -= 3_600_000;
    expect(failTimes(lockout, "192.0.2.1", 20)).toEqual(Array.from({ length: 20 }));
  });
});

test("the lockout answers every sequence as a plain model of its rules does", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ fail: key }) },
    { weight: 1, arbitrary: fc.record({ succeed: key }) },
    { weight: 3, arbitrary: fc.record({ waitMs: fc.integer({ min: 0, max: 70 }) }) },
  );
  const config = fc.record({
    failures: fc.integer({ min: 1, max: 4 }),
    windowMs: fc.integer({ min: 1, max: 60 }),
    lockMs: fc.integer({ min: 1, max: 60 }),
    maxClients: fc.integer({ min: 1, max: 6 }),
  });
  fc.assert(
    fc.property(config, fc.array(step, { maxLength: 120 }), (config, steps) => {
      const { lockout, clock } = lockoutAt(1_000_000, config);
      const model = new Model(config);
      for (const step of steps) {
        if ("waitMs" in step) clock.nowMs += step.waitMs;
        else if ("succeed" in step) {
          lockout.succeed(step.succeed);
          model.succeed(step.succeed);
        } else expect(lockout.fail(step.fail)).toBe(model.fail(step.fail, clock.nowMs));
        expect(lockout.size).toBeLessThanOrEqual(config.maxClients);
      }
    }),
    { numRuns: 1000 },
  );
});

/** The rules as one would write them without a thought for cost: everything is searched every time. */
class Model {
  readonly #config: LockoutConfig;
  #failures: { key: string; at: number }[] = [];
  #locks: { key: string; until: number }[] = [];

  constructor(config: LockoutConfig) {
    this.#config = config;
  }

  fail(key: string, now: number): number | undefined {
    const { failures, windowMs, lockMs, maxClients } = this.#config;
    this.#failures = this.#failures.filter(({ at }) => at + windowMs > now);
    this.#locks = this.#locks.filter(({ until }) => until > now);
    const lock = this.#locks.find((lock) => lock.key === key);
    if (lock !== undefined) return Math.max(1, Math.ceil((lock.until - now) / 1000));
    // Failing addresses in the order of their last failure.
    const failing = [...new Set(this.#failures.map((failure) => failure.key).toReversed())].toReversed();
    if (!failing.includes(key) && failing.length + this.#locks.length >= maxClients) {
      if (failing.length === 0) {
        const firstFree = Math.min(...this.#locks.map(({ until }) => until));
        return Math.max(1, Math.ceil((firstFree - now) / 1000));
      }
      this.#failures = this.#failures.filter((failure) => failure.key !== failing[0]);
    }
    this.#failures.push({ key, at: now });
    if (this.#failures.filter((failure) => failure.key === key).length >= failures) {
      this.#failures = this.#failures.filter((failure) => failure.key !== key);
      this.#locks.push({ key, until: now + lockMs });
    }
    return undefined;
  }

  succeed(key: string): void {
    this.#failures = this.#failures.filter((failure) => failure.key !== key);
    this.#locks = this.#locks.filter((lock) => lock.key !== key);
  }
}

describe("failures that gateways tell each other", () => {
  test("are kept once somebody takes them, each once, and those during a lock are not counted", () => {
    const { lockout } = lockoutAt(1_000_000);
    failTimes(lockout, "192.0.2.1", 2);
    expect([...lockout.takeUnreported()]).toEqual([]);
    failTimes(lockout, "192.0.2.1", 30);
    lockout.fail("192.0.2.2");
    expect([...lockout.takeUnreported()]).toEqual([
      ["192.0.2.1", 18],
      ["192.0.2.2", 1],
    ]);
    expect([...lockout.takeUnreported()]).toEqual([]);
  });

  test("lock an address together with those that are seen here, and are not told on", () => {
    const { lockout } = lockoutAt(1_000_000);
    lockout.takeUnreported();
    failTimes(lockout, "192.0.2.1", 5);
    lockout.failElsewhere("192.0.2.1", 15);
    expect(lockout.fail("192.0.2.1")).toBe(60);
    expect([...lockout.takeUnreported()]).toEqual([["192.0.2.1", 5]]);
    lockout.succeed("192.0.2.1");
    lockout.failElsewhere("192.0.2.1", 1_000_000);
    expect(lockout.fail("192.0.2.1")).toBe(60);
  });

  test("count as often as they were seen there", () => {
    const { lockout } = lockoutAt(1_000_000, { failures: 5 });
    lockout.failElsewhere("192.0.2.1", 3);
    expect(failTimes(lockout, "192.0.2.1", 3)).toEqual([undefined, undefined, 60]);
  });

  test("are of a bounded number of addresses", () => {
    const { lockout } = lockoutAt(1_000_000);
    lockout.takeUnreported();
    for (let address = 0; address < 2_000; address++) lockout.fail(`192.0.2.${address}`);
    expect(lockout.takeUnreported().size).toBe(1_000);
  });
});
