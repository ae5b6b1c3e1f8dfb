import { afterEach, expect, test, vi } from "vitest";
import { settledWithin } from "../../../src/core/settled-within.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a promise that is settled in time is waited for, and no timer is left", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { promise, resolve } = Promise.withResolvers<void>();
  const settled = vi.fn<() => void>();
  const waiting = settledWithin(promise, 1000).then(settled);
  await vi.advanceTimersByTimeAsync(999);
  expect(settled).not.toHaveBeenCalled();
  resolve();
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
});

test("one that is not is given up at the end of the time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const settled = vi.fn<() => void>();
  void settledWithin(Promise.withResolvers<void>().promise, 1000).then(settled);
  await vi.advanceTimersByTimeAsync(999);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(settled).toHaveBeenCalledOnce();
});
