import { WebhookIngress } from "reveille";
import type { GatewayHost, PayloadContext, RunSpec } from "reveille";
import { describe, expect, it } from "vitest";
import QuietHours from "./quiet-hours.ts";
import type { QuietHoursOptions } from "./quiet-hours.ts";

const night = { timeZone: "Europe/Berlin", from: "22:00", to: "07:00", urgent: ["PagerDuty"] };

/** Applies the plugin to a host that has only what it uses, at a point in time. */
function applied(options: QuietHoursOptions, now: string) {
  const shutdowns: (() => void)[] = [];
  const logged: object[] = [];
  const host = {
    clock: { now: () => Date.parse(now) },
    logger: { info: (fields: object) => logged.push(fields) },
    lifecycle: { onShutdown: { tap: (_name: string, tap: () => void) => shutdowns.push(tap) } },
  } as unknown as GatewayHost;
  new QuietHours(options).apply(host);
  const hooks = WebhookIngress.hooks(host);
  const judge = (name: string) =>
    hooks.policy.promise({ kind: "wake", name } as RunSpec, { path: "x" } as PayloadContext);
  const shutDown = (): readonly object[] => {
    for (const tap of shutdowns) tap();
    return logged;
  };
  return { hooks, judge, shutDown };
}

describe("quiet hours", () => {
  it.each([
    ["2026-11-22T20:59:00Z", false],
    ["2026-11-22T21:00:00Z", true],
    ["2026-11-22T23:30:00Z", true],
    ["2026-11-23T05:59:00Z", true],
    ["2026-11-23T06:00:00Z", false],
    // In summer Berlin is two hours ahead.
    ["2026-07-01T20:00:00Z", true],
    ["2026-07-01T05:00:00Z", false],
  ])("over midnight by the clock of Berlin: at %s quiet is %s", async (now, quiet) => {
    expect((await applied(night, now).judge("GitHub")) !== undefined).toBe(quiet);
  });

  it("may lie within one day", async () => {
    const noon = { timeZone: "UTC", from: "12:00", to: "13:00" };
    expect(await applied(noon, "2026-11-22T12:30:00Z").judge("GitHub")).toBeDefined();
    expect(await applied(noon, "2026-11-22T13:00:00Z").judge("GitHub")).toBeUndefined();
  });

  it("are named to the caller and do not apply to urgent calls", async () => {
    const { judge } = applied(night, "2026-11-22T23:30:00Z");
    expect(await judge("GitHub")).toEqual({
      deny: "Quiet hours: no call is taken from 22:00 to 07:00 (Europe/Berlin). Try again after 07:00.",
    });
    expect(await judge("PagerDuty")).toBeUndefined();
  });

  it("say at the end what was refused and how runs ended", async () => {
    const { hooks, judge, shutDown } = applied(night, "2026-11-22T23:30:00Z");
    await judge("GitHub");
    await hooks.settled.promise({ runId: "1", kind: "agent", state: "done", reason: null });
    await hooks.settled.promise({ runId: "2", kind: "agent", state: "failed", reason: "no model" });
    expect(shutDown()).toEqual([{ refused: 1, done: 1, failed: 1, canceled: 0, skipped: 0 }]);
  });

  it("refuse a time zone that does not exist, and hours without a length", () => {
    expect(() => new QuietHours({ ...night, timeZone: "Mars/Base" })).toThrow("Mars/Base");
    expect(() => new QuietHours({ ...night, to: "22:00" })).toThrow("from and to are the same time");
  });
});
