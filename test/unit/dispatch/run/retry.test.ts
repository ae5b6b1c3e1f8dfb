import type * as Timers from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BRIEF_RETRY, HOST_RETRY, isRetryable, retrying, STORE_RETRY } from "../../../../src/dispatch/run/retry.ts";
import { HostError } from "../../../../src/core/host.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";

/** Delays that were asked for; each passes at once, unless it is a long one. */
const delays: number[] = [];
const LONG_MS = 1_000_000;

vi.mock("node:timers/promises", async (original) => {
  const timers = await original<typeof Timers>();
  return {
    ...timers,
    setTimeout: (delayMs: number, value: unknown, options: { signal: AbortSignal }) => {
      delays.push(delayMs);
      return timers.setTimeout(delayMs < LONG_MS / 2 ? 0 : delayMs, value, options);
    },
  };
});

afterEach(() => {
  delays.length = 0;
});

const busy = new HostError("The model is overloaded.", { retryable: true });
const never = new HostError("There is no such model.", { retryable: false });
const SOON = { tries: 3, firstDelayMs: 1, maxDelayMs: 1 };
const goOn = new AbortController().signal;

/** A step that fails with each of the errors in turn, then succeeds. */
function failing(...errors: readonly Error[]): { step: () => Promise<string>; calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    step: () => {
      const error = errors[calls++];
      return error ? Promise.reject(error) : Promise.resolve("done");
    },
  };
}

describe("a step after the durable line", () => {
  it("that succeeds is done once", async () => {
    const { step, calls } = failing();
    await expect(retrying(step, SOON, goOn)).resolves.toBe("done");
    expect(calls()).toBe(1);
    expect(delays).toEqual([]);
  });

  it("is tried again when what failed may succeed later", async () => {
    const { step, calls } = failing(busy, new StoreError("UNAVAILABLE", "The disk is full."));
    await expect(retrying(step, SOON, goOn)).resolves.toBe("done");
    expect(calls()).toBe(3);
  });

  it.each([never, new StoreError("CLOSED", "closing"), new StoreError("NOT_FOUND", "no such run"), new Error("bug")])(
    "is not tried again when it failed permanently: %s",
    async (error) => {
      const { step, calls } = failing(error);
      await expect(retrying(step, SOON, goOn)).rejects.toBe(error);
      expect(calls()).toBe(1);
    },
  );

  it("gives up after so many tries, with the last error", async () => {
    const last = new HostError("Still overloaded.", { retryable: true });
    const { step, calls } = failing(busy, busy, last);
    await expect(retrying(step, SOON, goOn)).rejects.toBe(last);
    expect(calls()).toBe(3);
  });

  it("gives up at a permanent error, also after transient ones", async () => {
    const { step, calls } = failing(busy, never);
    await expect(retrying(step, SOON, goOn)).rejects.toBe(never);
    expect(calls()).toBe(2);
  });

  it("is not tried again once the signal says stop, and the wait ends at once", async () => {
    const stop = new AbortController();
    const { step, calls } = failing(busy);
    const outcome = retrying(step, { tries: 5, firstDelayMs: LONG_MS, maxDelayMs: LONG_MS }, stop.signal);
    await new Promise(setImmediate);
    expect(delays).toHaveLength(1);
    stop.abort();
    await expect(outcome).rejects.toBe(busy);
    expect(calls()).toBe(1);
  });

  it("is tried once, and once only, when the signal said stop before", async () => {
    const stopped = AbortSignal.abort();
    await expect(retrying(failing().step, SOON, stopped)).resolves.toBe("done");
    const { step, calls } = failing(busy);
    await expect(retrying(step, SOON, stopped)).rejects.toBe(busy);
    expect(calls()).toBe(1);
  });

  it("that is worth only a moment is tried six times, over 15.5 seconds at most", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    const { step, calls } = failing(...Array.from({ length: 10 }, () => busy));
    await expect(retrying(step, BRIEF_RETRY, goOn)).rejects.toBe(busy);
    expect(calls()).toBe(6);
    expect(delays.reduce((sum, delayMs) => sum + delayMs)).toBe(15_500);
  });

  it("waits twice as long each time, up to a bound", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    await retrying(failing(busy, busy, busy, busy, busy).step, HOST_RETRY, goOn);
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
    delays.length = 0;
    await retrying(failing(busy, busy, busy, busy).step, { tries: 9, firstDelayMs: 3, maxDelayMs: 10 }, goOn);
    expect(delays).toEqual([3, 6, 10, 10]);
  });

  it("waits for half of that at least, and the rest is chance: many that failed together do not come back together", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    await retrying(failing(busy, busy, busy).step, HOST_RETRY, goOn);
    expect(delays).toEqual([250, 500, 1_000]);
    vi.mocked(Math.random).mockReturnValue(0.5);
    delays.length = 0;
    await retrying(failing(busy, busy, busy).step, HOST_RETRY, goOn);
    expect(delays).toEqual([375, 750, 1_500]);
  });

  it.each([
    ["writes state", STORE_RETRY, 5_000],
    ["asks the host", HOST_RETRY, 10_000],
  ] as const)("that %s is tried until the signal says stop, however often it failed", async (_what, policy, maxMs) => {
    const { step, calls } = failing(...Array.from({ length: 2_000 }, () => busy));
    await expect(retrying(step, policy, goOn)).resolves.toBe("done");
    expect(calls()).toBe(2_001);
    expect(Math.max(...delays)).toBeLessThanOrEqual(maxMs);
  });
});

describe("what may succeed when it is simply done again", () => {
  it.each<[string, unknown, boolean]>([
    ["a host that says so", busy, true],
    ["a host that says no", never, false],
    ["a store that cannot write now", new StoreError("UNAVAILABLE", "full"), true],
    ["a store that is closing", new StoreError("CLOSED", "closing"), false],
    ["a defect", new TypeError("undefined is not a function"), false],
    ["something that only looks so", { name: "HostError", retryable: true }, false],
    ["nothing", undefined, false],
  ])("%s", (_case, error, expected) => {
    expect(isRetryable(error)).toBe(expected);
  });
});
