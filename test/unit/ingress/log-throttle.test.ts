import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LogThrottle } from "../../../src/ingress/log-throttle.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function throttled() {
  const flushed: string[] = [];
  const throttle = new LogThrottle<{ readonly name: string }>({
    clock: { now: () => Date.now() },
    flushed: ({ name }, suppressed) => flushed.push(`${name} ${suppressed}`),
  });
  const admit = (kind: string): number | undefined => throttle.admit(kind, { name: kind }, "shared");
  return { throttle, flushed, admit };
}

describe("LogThrottle", () => {
  it("admits one line of a kind in ten seconds and counts the others", () => {
    const { admit } = throttled();
    expect([admit("github"), admit("github"), admit("github")]).toEqual([0, undefined, undefined]);
    vi.advanceTimersByTime(9_999);
    expect(admit("github")).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect([admit("github"), admit("github")]).toEqual([3, undefined]);
    vi.advanceTimersByTime(10_000);
    expect(admit("github")).toBe(1);
  });

  it("counts each kind separately", () => {
    const { admit } = throttled();
    expect(["a", "b", "a"].map(admit)).toEqual([0, 0, undefined]);
  });

  it("admits a line when the clock was set back", () => {
    const { admit } = throttled();
    admit("a");
    vi.setSystemTime(0);
    expect(admit("a")).toBe(0);
  });

  it("flushes a count that no later line carries, within two minutes and once", () => {
    const { admit, flushed } = throttled();
    for (let count = 0; count < 4; count++) admit("a");
    vi.advanceTimersByTime(120_000);
    expect(flushed).toEqual(["a 3"]);
    vi.advanceTimersByTime(120_000);
    expect(flushed).toEqual(["a 3"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("flushes every count at once when it is asked to, and holds no timer then", () => {
    const { throttle, admit, flushed } = throttled();
    for (const kind of ["a", "b", "a", "b", "b", "c"]) admit(kind);
    throttle.flush();
    expect(flushed).toEqual(["a 1", "b 2"]);
    expect(vi.getTimerCount()).toBe(0);
    expect(admit("a")).toBe(0);
  });

  it("keeps a bounded number of kinds; new ones then share a kind, and none goes uncounted", () => {
    const { throttle, admit, flushed } = throttled();
    for (let kind = 0; kind < 1_000; kind++) expect(admit(`k${kind}`)).toBe(0);
    expect(admit("one more")).toBe(0);
    for (let kind = 0; kind < 500; kind++) expect(admit(`new ${kind}`)).toBeUndefined();
    throttle.flush();
    expect(flushed).toEqual(["one more 500"]);
  });

  it("makes room by flushing kinds whose ten seconds are over", () => {
    const { admit, flushed } = throttled();
    for (let kind = 0; kind < 1_000; kind++) admit(`k${kind}`);
    admit("k7");
    vi.advanceTimersByTime(10_000);
    expect([admit("new"), admit("new")]).toEqual([0, undefined]);
    expect(flushed).toEqual(["k7 1"]);
  });
});
