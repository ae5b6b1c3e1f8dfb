import { afterEach, expect, it, vi } from "vitest";
import type { StateStore } from "../../../../../src/hosts/embedded/state/state-store.ts";
import { LastRoutes } from "../../../../../src/hosts/embedded/state/last-routes.ts";

const ROUTE = { channel: "console", to: "owner" };
const GONE = new Error("the database is away");

afterEach(() => {
  vi.useRealTimers();
});

/** What the database answers, one reading after the other. */
function routesOf(answers: readonly (typeof ROUTE | Error)[], isShared: boolean): LastRoutes {
  const left = [...answers];
  const read = async () => {
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return new LastRoutes({ isShared, read } as unknown as StateStore);
}

it("reads a route again that another gateway may have changed, and keeps it while the database is away", async () => {
  vi.useFakeTimers();
  const other = { ...ROUTE, to: "another" };
  const routes = routesOf([ROUTE, GONE, other], true);
  expect(await routes.of("main")).toEqual(ROUTE);
  expect(await routes.of("main")).toEqual(ROUTE);
  vi.advanceTimersByTime(2_000);
  expect(await routes.of("main")).toEqual(ROUTE);
  vi.advanceTimersByTime(2_000);
  expect(await routes.of("main")).toEqual(other);
});

it("reads a route once that no other gateway changes, and again after a reading that failed", async () => {
  vi.useFakeTimers();
  const routes = routesOf([GONE, ROUTE], false);
  await expect(routes.of("main")).rejects.toThrow("away");
  expect(await routes.of("main")).toEqual(ROUTE);
  vi.advanceTimersByTime(60_000);
  expect(await routes.of("main")).toEqual(ROUTE);
});
