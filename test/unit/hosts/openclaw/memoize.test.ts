import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { memoizePerTick } from "../../../../src/hosts/openclaw/memoize.ts";

it("asks once in a turn of the event loop, and again in the next", async () => {
  let version = 1;
  const ask = vi.fn(() => ({ version }));
  const current = memoizePerTick(ask);
  const first = current();
  version = 2;
  await Promise.resolve();
  expect(current()).toBe(first);
  expect(ask).toHaveBeenCalledTimes(1);
  await nextTurn();
  expect(current()).toEqual({ version: 2 });
});

it("remembers nothing of an answer that could not be given", () => {
  const ask = vi.fn<() => string>().mockImplementationOnce(() => {
    throw new Error("not now");
  });
  ask.mockReturnValue("the configuration");
  const current = memoizePerTick(ask);
  expect(current).toThrow("not now");
  expect(current()).toBe("the configuration");
});
