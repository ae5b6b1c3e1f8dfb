import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DueRuns, TrackedRun } from "../../../../src/dispatch/queue/timers.ts";
import type { DispatchContext, TakenRun } from "../../../../src/dispatch/context.ts";
import { openRun } from "../dispatch-bench.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const policy = (maxDelayMs: number) => ({ attempts: 3, firstDelayMs: 1_000, maxDelayMs });
const RULES = { retry: { runs: policy(60_000), deliveries: policy(10_000) }, coalesceMs: 20_000 };

describe("a run that waits for a time", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** Adds a run that is due in some time, and expects that it arrives after the given one. */
  async function expectWait(state: Partial<TakenRun>, delayMs: number, expectedMs: number): Promise<void> {
    const arrived: TrackedRun[] = [];
    const context = {
      rulesFor: () => RULES,
      clock: { now: () => Date.now() },
      store: { stopCoalescing: async () => {} },
    };
    const due = new DueRuns({ ...context, abandon: new AbortController().signal } as unknown as DispatchContext, {
      arrived: (run) => void arrived.push(run),
      lost: () => {},
    });
    due.start();
    due.add(new TrackedRun(openRun({ ...state, dueAt: Date.now() + delayMs }), "lane"));
    await vi.advanceTimersByTimeAsync(expectedMs - 1_000);
    expect(arrived).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(arrived).toHaveLength(1);
    due.stop();
  }

  // The clock was set back by a day: the time that is on disk is far away.
  it.each([
    ["for its next attempt", { begun: true }, 60_000],
    ["for the next try to send its reply", { begun: true, replied: true }, HOUR_MS],
    ["for more calls", {}, 20_000],
  ])("%s waits no longer than is allowed at a time", async (_what, state, maxMs) => {
    await expectWait(state, DAY_MS, maxMs);
  });

  it("for a channel that asks for more than the policy allows waits as long as it asks", async () => {
    await expectWait({ begun: true, replied: true }, 3_000_000, 3_000_000);
  });
});
