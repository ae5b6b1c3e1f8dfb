import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { Budgets } from "../../../../src/dispatch/queue/budgets.ts";
import type { ScopedBudget } from "../../../../src/dispatch/rules.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import type { Usage } from "../../../../src/storage/operational-state.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function budget(scope: string, limits: { perHour?: number; perDay?: number }): ScopedBudget {
  return { scope, measure: "runs", perHour: limits.perHour, perDay: limits.perDay };
}

/** A process that counts, its clock, and what has been written of it. */
class Counting {
  nowMs = Date.UTC(2026, 0, 15, 12);
  readonly written: Usage[] = [];
  readonly logged: string[] = [];
  failure: Error | undefined;
  budgets!: Budgets;

  static async start(): Promise<Counting> {
    const counting = new Counting();
    await counting.restart();
    return counting;
  }

  async restart(): Promise<void> {
    this.budgets = new Budgets({
      clock: { now: () => this.nowMs },
      logger: { debug() {}, info() {}, warn() {}, error: (_, message) => void this.logged.push(message) },
      abandon: new AbortController().signal,
      store: {
        addUsage: async (usage) => {
          if (this.failure) throw this.failure;
          this.written.push(...usage);
        },
        usageSince: async (minute) => this.written.filter((usage) => usage.minute >= minute),
      },
    });
    await this.budgets.load();
  }

  count(budgets: readonly ScopedBudget[], times = 1): void {
    for (let at = 0; at < times; at++) this.budgets.count(budgets);
  }
}

describe("budgets", () => {
  let counting: Counting;
  const hourly = [budget("mail", { perHour: 3 })];

  beforeEach(async () => {
    counting = await Counting.start();
  });

  it("get back a run of the oldest minute that still counts for the hour", () => {
    const draw = counting.budgets.count(hourly)!;
    counting.count(hourly, 2);
    counting.nowMs += HOUR_MS;
    expect(counting.budgets.usedUp(hourly)).toMatchObject({ scope: "mail" });
    counting.budgets.giveBack(draw);
    expect(counting.budgets.usedUp(hourly)).toBeUndefined();
  });

  it("are used up by as many runs as they allow, and say which of them is", () => {
    counting.count(hourly, 2);
    expect(counting.budgets.usedUp(hourly)).toBeUndefined();
    counting.count(hourly);
    expect(counting.budgets.usedUp(hourly)).toEqual({ scope: "mail", measure: "runs", limit: 3, per: "hour" });
    expect(counting.budgets.usedUp([budget("other", { perHour: 1 })])).toBeUndefined();
  });

  it("of an hour and of a day apply together, and so do those of a mapping and of everything", () => {
    const both = [budget("mail", { perHour: 2, perDay: 3 }), budget("*", { perDay: 4 })];
    counting.count(both, 2);
    expect(counting.budgets.usedUp(both)?.per).toBe("hour");
    counting.nowMs += 2 * HOUR_MS;
    expect(counting.budgets.usedUp(both)).toBeUndefined();
    counting.count(both);
    expect(counting.budgets.usedUp(both)).toEqual({ scope: "mail", measure: "runs", limit: 3, per: "day" });
    const everything = both.slice(1);
    expect(counting.budgets.usedUp(everything)).toBeUndefined();
    counting.count(everything);
    expect(counting.budgets.usedUp(everything)).toEqual({ scope: "*", measure: "runs", limit: 4, per: "day" });
  });

  it("of tokens and of costs are used up by what runs have used, also after a restart", async () => {
    const tokens: ScopedBudget[] = [{ scope: "mail", measure: "tokens", perHour: 1_000, perDay: undefined }];
    const cost: ScopedBudget[] = [{ scope: "mail", measure: "microUsd", perHour: undefined, perDay: 250_000 }];
    const both = [...tokens, ...cost];
    expect(counting.budgets.count(both)).toBeUndefined();
    counting.budgets.spend(both, { inputTokens: 900, outputTokens: 99, costUsd: 0.2 });
    expect(counting.budgets.usedUp(both)).toBeUndefined();
    counting.budgets.spend(both, { inputTokens: 1, outputTokens: 0, costUsd: 0.05 });
    await counting.budgets.written();
    expect(counting.budgets.usedUp(both)).toEqual({ scope: "mail", measure: "tokens", limit: 1_000, per: "hour" });
    expect(counting.budgets.usedUp(cost)).toEqual({ scope: "mail", measure: "microUsd", limit: 250_000, per: "day" });
    counting.nowMs += 2 * HOUR_MS;
    await counting.restart();
    expect(counting.budgets.usedUp(tokens)).toBeUndefined();
    expect(counting.budgets.usedUp(cost)).toMatchObject({ measure: "microUsd" });
    counting.budgets.forget("mail");
    expect(counting.budgets.usedUp(both)).toBeUndefined();
  });

  it("cost nothing where there are none", async () => {
    counting.count([], 3);
    expect(counting.budgets.usedUp([])).toBeUndefined();
    await counting.budgets.written();
    expect(counting.written).toEqual([]);
  });

  it("are counted across a restart, what began in one turn of the event loop in one write", async () => {
    counting.count(hourly, 3);
    await counting.budgets.written();
    expect(counting.written).toEqual([
      { scope: "mail", minute: counting.nowMs / MINUTE_MS, runs: 3, tokens: 0, microUsd: 0 },
    ]);
    await counting.restart();
    expect(counting.budgets.usedUp(hourly)?.scope).toBe("mail");
    counting.nowMs += 61 * MINUTE_MS;
    expect(counting.budgets.usedUp(hourly)).toBeUndefined();
  });

  it("start over when the counts are forgotten", () => {
    counting.count(hourly, 3);
    counting.budgets.forget("mail");
    expect(counting.budgets.usedUp(hourly)).toBeUndefined();
  });

  it("have back what did not begin after all, across a restart as well", async () => {
    const both = [budget("mail", { perHour: 3 }), budget("*", { perDay: 3 })];
    counting.count(both, 2);
    const draw = counting.budgets.count(both)!;
    await counting.budgets.written();
    expect(counting.budgets.usedUp(both)?.scope).toBe("mail");
    counting.nowMs += 5 * MINUTE_MS;
    counting.budgets.giveBack(draw);
    expect(counting.budgets.usedUp(both)).toBeUndefined();
    await counting.budgets.written();
    await counting.restart();
    expect(counting.budgets.usedUp(both)).toBeUndefined();
    counting.count(both);
    expect(counting.budgets.usedUp(both)?.scope).toBe("mail");
    expect(counting.budgets.usedUp(both.slice(1))?.scope).toBe("*");
  });

  it("write nothing of what is given back at once", async () => {
    counting.budgets.giveBack(counting.budgets.count(hourly)!);
    await counting.budgets.written();
    expect(counting.written).toEqual([]);
  });

  it("have nothing back of what was forgotten, or is too long ago to count", async () => {
    const forgotten = counting.budgets.count(hourly)!;
    counting.budgets.forget("mail");
    counting.count(hourly, 3);
    counting.budgets.giveBack(forgotten);
    expect(counting.budgets.usedUp(hourly)?.scope).toBe("mail");

    const daily = [budget("mail", { perHour: 3, perDay: 4 })];
    const longAgo = counting.budgets.count(daily)!;
    counting.nowMs += 2 * HOUR_MS;
    counting.budgets.giveBack(longAgo);
    counting.count(daily);
    expect(counting.budgets.usedUp(daily)?.per).toBe("day");
    const older = counting.budgets.count(daily)!;
    counting.nowMs += DAY_MS + HOUR_MS;
    counting.count(daily, 3);
    counting.budgets.giveBack(older);
    expect(counting.budgets.usedUp(daily)?.per).toBe("hour");
  });

  it("continue in memory when they cannot be written, and the log says so", async () => {
    counting.failure = new StoreError("CLOSED", "closing");
    counting.count(hourly, 3);
    await counting.budgets.written();
    expect(counting.logged).toEqual(["the use of budgets could not be written"]);
    expect(counting.budgets.usedUp(hourly)?.scope).toBe("mail");
  });

  it("let no more runs begin in any 60 minutes and any 24 hours than they allow", async () => {
    const steps = fc.array(fc.integer({ min: 0, max: 40 * MINUTE_MS }), { maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 30 }),
        async (steps, perHour, perDay) => {
          const counting = await Counting.start();
          const limits = [budget("mail", { perHour, perDay })];
          const begun: number[] = [];
          for (const stepMs of steps) {
            counting.nowMs += stepMs;
            if (counting.budgets.usedUp(limits)) continue;
            counting.count(limits);
            begun.push(counting.nowMs);
          }
          for (const [at, from] of begun.entries()) {
            const within = (spanMs: number): number => begun.slice(at).filter((time) => time < from + spanMs).length;
            expect(within(HOUR_MS)).toBeLessThanOrEqual(perHour);
            expect(within(DAY_MS)).toBeLessThanOrEqual(perDay);
          }
        },
      ),
    );
  });

  it("are free again after their time, however the clock was set back and forth before", async () => {
    const jumps = fc.array(fc.integer({ min: -400 * HOUR_MS, max: 400 * HOUR_MS }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(jumps, async (jumps) => {
        const counting = await Counting.start();
        const limits = [budget("mail", { perHour: 1, perDay: 2 })];
        for (const jumpMs of jumps) {
          counting.nowMs += jumpMs;
          counting.budgets.usedUp(limits);
          counting.count(limits);
          expect(counting.budgets.usedUp(limits)?.per).toBe("hour");
        }
        counting.nowMs += 61 * MINUTE_MS;
        expect(counting.budgets.usedUp(limits)?.per).not.toBe("hour");
        counting.nowMs += DAY_MS;
        expect(counting.budgets.usedUp(limits)).toBeUndefined();
      }),
    );
  });

  it("lose nothing to a clock that is set back by an hour, and to one that continues again", () => {
    counting.count(hourly, 3);
    counting.nowMs -= HOUR_MS;
    expect(counting.budgets.usedUp(hourly)?.scope).toBe("mail");
    counting.nowMs += 30 * MINUTE_MS;
    expect(counting.budgets.usedUp(hourly)?.scope).toBe("mail");
  });
});
