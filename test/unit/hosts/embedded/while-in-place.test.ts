import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { whileInPlace } from "../../../../src/hosts/embedded/while-in-place.ts";

const never = (): Promise<void> => new Promise(() => {});

/** Resolves when it is aborted. */
const untilAborted = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"));
  });

describe("work that no other gateway may carry out as well", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("does not begin at a gateway that has lost its place", async () => {
    const sessions = { areShared: true, confirmPlace: () => Promise.reject(new Error("It was replaced.")) };
    const work = vi.fn(untilAborted);
    await expect(whileInPlace(sessions, new AbortController().signal, work)).rejects.toThrow("It was replaced.");
    expect(work).not.toHaveBeenCalled();
  });

  it.each([
    ["gives no answer any more", never],
    ["takes no write any more", () => Promise.reject(new Error("It is gone."))],
  ])("is aborted when the database %s", async (_, later) => {
    const confirmPlace = vi.fn(later).mockResolvedValueOnce(undefined);
    const done = whileInPlace({ areShared: true, confirmPlace }, new AbortController().signal, untilAborted);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await done).toBe("aborted");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("goes on while the place is confirmed, and after a short silence", async () => {
    let calls = 0;
    const confirmPlace = (): Promise<void> => (++calls % 3 === 0 ? never() : Promise.resolve());
    const { promise, resolve } = Promise.withResolvers<string>();
    let isAborted = false;
    const done = whileInPlace({ areShared: true, confirmPlace }, new AbortController().signal, (signal) => {
      signal.addEventListener("abort", () => (isAborted = true));
      return promise;
    });
    await vi.advanceTimersByTimeAsync(60_000);
    resolve("done");
    expect(await done).toBe("done");
    expect(isAborted).toBe(false);
  });

  it("is aborted with its signal", async () => {
    const ending = new AbortController();
    const done = whileInPlace({ areShared: true, confirmPlace: async () => {} }, ending.signal, untilAborted);
    await vi.advanceTimersByTimeAsync(10);
    ending.abort();
    expect(await done).toBe("aborted");
  });

  it("asks once where there is no other gateway", async () => {
    const confirmPlace = vi.fn(async () => {});
    const done = whileInPlace({ areShared: false, confirmPlace }, new AbortController().signal, async () => "done");
    expect(await done).toBe("done");
    expect(confirmPlace).toHaveBeenCalledTimes(1);
  });
});
