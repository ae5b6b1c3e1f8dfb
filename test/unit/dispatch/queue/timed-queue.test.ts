import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TimedQueue } from "../../../../src/dispatch/queue/timed-queue.ts";
import type { Alarm } from "../../../../src/dispatch/queue/timed-queue.ts";

const DAY_MS = 86_400_000;

describe("a timed queue", () => {
  let rung: string[];
  let queue: TimedQueue<string>;

  beforeEach(() => {
    vi.useFakeTimers();
    rung = [];
    queue = new TimedQueue((items) => rung.push(...items));
    queue.start();
  });
  afterEach(() => {
    queue.stop();
    vi.useRealTimers();
  });

  const inMs = (delayMs: number): number => performance.now() + delayMs;

  it("hands out its items in the order of their times, each when its time has come", () => {
    queue.add("late", inMs(50));
    queue.add("early", inMs(10));
    queue.add("at once", inMs(-5));
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(10);
    expect(rung).toEqual(["at once", "early"]);
    vi.advanceTimersByTime(39);
    expect(queue.size).toBe(1);
    vi.advanceTimersByTime(1);
    expect(rung).toEqual(["at once", "early", "late"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("arms no timer while it is empty, and one however many wait", () => {
    expect(vi.getTimerCount()).toBe(0);
    const alarms = Array.from({ length: 100 }, (_, at) => queue.add(`${at}`, inMs(1_000 - at)));
    expect(vi.getTimerCount()).toBe(1);
    for (const alarm of alarms) queue.move(alarm, inMs(2_000));
    expect(vi.getTimerCount()).toBe(1);
  });

  it("waits for the new time of an item that is put off, again and again", () => {
    const alarm = queue.add("gathering", inMs(100));
    for (let call = 0; call < 20; call++) {
      vi.advanceTimersByTime(60);
      queue.move(alarm, inMs(100));
    }
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(99);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(rung).toEqual(["gathering"]);
  });

  it("knows nothing of an item that has rung or was removed", () => {
    const rings = queue.add("rings", inMs(10));
    const removed = queue.add("removed", inMs(20));
    expect(queue.remove(removed)).toBe(true);
    expect(queue.remove(removed)).toBe(false);
    vi.advanceTimersByTime(30);
    expect(queue.remove(rings)).toBe(false);
    queue.move(rings, inMs(10));
    queue.move(removed, inMs(10));
    vi.advanceTimersByTime(30);
    expect(rung).toEqual(["rings"]);
  });

  it("waits for a time that lies beyond what a timer can wait", () => {
    queue.add("in two months", inMs(60 * DAY_MS));
    vi.advanceTimersByTime(59 * DAY_MS);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(DAY_MS);
    expect(rung).toEqual(["in two months"]);
  });

  it("hands out at most 256 items in one turn of the event loop", () => {
    const sizes: number[] = [];
    const many = new TimedQueue<number>((items) => sizes.push(items.length));
    for (let at = 0; at < 600; at++) many.add(at, inMs(5));
    many.start();
    vi.advanceTimersByTime(100);
    expect(sizes).toEqual([256, 256, 88]);
  });

  it("lets nothing become due once it is stopped, and what is overdue when it is started", () => {
    queue.add("due", inMs(10));
    queue.stop();
    expect(vi.getTimerCount()).toBe(0);
    queue.add("due as well", inMs(5));
    vi.advanceTimersByTime(100);
    expect(rung).toEqual([]);
    queue.start();
    vi.advanceTimersByTime(1);
    expect(rung).toEqual(["due as well", "due"]);
  });

  it("rings by the latest time of each item and in order, for any use", () => {
    const step = fc.oneof(
      fc.record({ add: fc.nat(200) }),
      fc.record({ move: fc.nat(60), delayMs: fc.nat(200) }),
      fc.record({ remove: fc.nat(60) }),
      fc.record({ wait: fc.nat(60) }),
    );
    const adds = fc.array(fc.record({ add: fc.nat(200) }), { maxLength: 60, size: "max" });
    const all = fc.array(step, { maxLength: 60, size: "max" });
    fc.assert(
      fc.property(adds, all, (adds, steps) => {
        const rungAt = new Map<number, number>();
        const tried = new TimedQueue<number>((items) => {
          for (const item of items) {
            expect(rungAt.has(item)).toBe(false);
            rungAt.set(item, performance.now());
          }
        });
        tried.start();
        const alarms: Alarm<number>[] = [];
        const times: (number | undefined)[] = [];
        for (const step of [...adds, ...steps]) {
          if ("add" in step) {
            times.push(inMs(step.add));
            alarms.push(tried.add(alarms.length, inMs(step.add)));
          } else if ("wait" in step) {
            vi.advanceTimersByTime(step.wait);
          } else if ("move" in step) {
            const alarm = alarms[step.move];
            if (!alarm) continue;
            tried.move(alarm, inMs(step.delayMs));
            if (!rungAt.has(step.move) && times[step.move] !== undefined) times[step.move] = inMs(step.delayMs);
          } else if (alarms[step.remove]) {
            const isThere = !rungAt.has(step.remove) && times[step.remove] !== undefined;
            expect(tried.remove(alarms[step.remove]!)).toBe(isThere);
            if (isThere) times[step.remove] = undefined;
          }
        }
        vi.advanceTimersByTime(1_000);
        expect(tried.size).toBe(0);
        for (const [item, atMs] of times.entries()) {
          if (atMs === undefined) expect(rungAt.has(item)).toBe(false);
          else expect(Math.abs(rungAt.get(item)! - atMs)).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 300 },
    );
  });
});
