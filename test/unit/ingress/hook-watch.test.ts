import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import { HookWatch, usualSilenceMs } from "../../../src/ingress/hook-watch.ts";
import { RequestFacts } from "../../../src/ingress/request-log.ts";
import { newDelivery } from "../../conformance/store/new-delivery.ts";
import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 15);

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ["setInterval", "clearInterval", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const mapping = (id: string, expectEveryMs?: number) =>
  ({ id, match: { path: id }, expectEveryMs }) as unknown as MappingConfig;

function watched(mappings: readonly MappingConfig[]) {
  const store = new MemoryDeliveryStore();
  const open = new Set<string>();
  const notices: string[] = [];
  const outages = {
    failed: async (subject: string, text: string) => {
      if (!open.has(subject)) notices.push(text);
      open.add(subject);
    },
    works: (subject: string, text = "") => {
      if (open.delete(subject)) notices.push(text);
      return undefined;
    },
    written: async () => {},
  };
  const clock = { now: () => Date.now() };
  const watch = new HookWatch({ store, outages, clock, logger: recordingLogger(), mappings: () => mappings });
  onTestFinished(async () => {
    await watch.stop();
    await store.close();
  });
  const paths = { hasPath: (path: string) => mappings.some(({ match }) => match.path === path) };
  const call = (facts: Partial<RequestFacts>): void => watch.saw(Object.assign(new RequestFacts(), facts), paths);
  return { store, watch, notices, call };
}

/** Lets time pass in steps of a minute, and what is read be read. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("HookWatch", () => {
  it("reports no silence of a route whose calls another gateway accepts, and nothing while another one leads", async () => {
    const { watch, store, notices, call } = watched([mapping("github", 2 * HOUR)]);
    const shared = { leads: false };
    Object.assign(store, { shared });
    for (let refused = 0; refused < 30; refused++) {
      call(refused === 0 ? { route: "github", state: "queued" } : { route: "github", code: "UNAUTHORIZED" });
      await pass(MINUTE);
    }
    expect(notices).toEqual([]);
    shared.leads = true;
    watch.start();
    await pass(HOUR);
    await store.accept(newDelivery({ route: "github", receivedAt: Date.now() }));
    await pass(HOUR + 30 * MINUTE);
    expect(notices).toEqual([]);
    await pass(HOUR);
    expect(notices).toEqual([expect.stringContaining("No call of github has been accepted since")]);
  });

  it("reports once that a route is silent for longer than expected, and once that calls arrive again", async () => {
    const { watch, notices, call } = watched([mapping("github", 2 * HOUR), mapping("quiet", 0)]);
    watch.start();
    call({ route: "github", state: "queued" });
    await pass(2 * HOUR);
    expect(notices).toEqual([]);
    await pass(5 * HOUR);
    expect(notices).toEqual([
      "No call of github has been accepted since 2026-01-15T00:00:00.000Z; at least one in 2.0 hours is expected. Look at the sender's own log of deliveries, and try it: reveille send github",
    ]);
    call({ route: "github", state: "queued" });
    call({ route: "github", state: "queued" });
    expect(notices.slice(1)).toEqual(["Calls of github arrive again."]);
  });

  it("learns the usual silence of a mapping from its stored deliveries", async () => {
    const { store, watch, notices, call } = watched([mapping("m")]);
    for (let day = 1; day <= 12; day++) {
      await store.accept(newDelivery({ mappingId: "m", receivedAt: START - day * DAY }));
    }
    watch.start();
    await pass(MINUTE);
    call({ route: "m", state: "queued" });
    await pass(2 * DAY);
    expect(notices).toEqual([]);
    await pass(2 * HOUR);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain("at least one in 49 hours is expected");
  });

  it("reports refusals in a row that follow an accepted call, and that calls are accepted again", async () => {
    const { notices, call } = watched([mapping("stripe", 0)]);
    const refused = { route: "stripe", code: "UNAUTHORIZED", reason: "no signature matches" } as const;
    for (let at = 0; at < 20; at++) {
      call(refused);
      await pass(MINUTE);
    }
    expect(notices).toEqual([]);
    call({ route: "stripe", state: "queued" });
    for (let at = 0; at < 20; at++) {
      call(refused);
      await pass(MINUTE);
    }
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(
      /^Calls of stripe are refused \(UNAUTHORIZED\), 11 in a row; the last one was accepted at /u,
    );
    call({ route: "stripe", state: "queued" });
    expect(notices[1]).toBe("Calls of stripe are accepted again.");
  });

  it("does not take a full queue for a wrong secret, nor a few refusals", async () => {
    const { notices, call } = watched([mapping("stripe", 0)]);
    call({ route: "stripe", state: "queued" });
    for (let at = 0; at < 30; at++) {
      call({ route: "stripe", code: "QUEUE_FULL" });
      await pass(MINUTE);
    }
    for (let at = 0; at < 50; at++) call({ route: "stripe", code: "UNAUTHORIZED" });
    expect(notices).toEqual([]);
  });

  it("reports that every call is filtered, once for many, and that they no longer are", async () => {
    const { notices, call } = watched([mapping("github", 0)]);
    for (let at = 0; at < 60; at++) {
      call({ route: "github", state: "filtered" });
      await pass(4 * MINUTE);
    }
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/^The last 20 calls of github were all filtered/u);
    call({ route: "github", state: "queued" });
    expect(notices[1]).toBe("Calls of github are no longer all filtered.");
  });

  it("remembers no route that no mapping names, and the latest calls of the others", () => {
    const { watch, call } = watched([mapping("github", 0)]);
    for (let at = 0; at < 100; at++) call({ route: `random-${at}`, code: "NOT_FOUND" });
    expect(watch.activityOf("random-1")).toBeUndefined();
    call({ route: "github", code: "UNAUTHORIZED", reason: "no signature matches" });
    expect(watch.activityOf("github")).toMatchObject({
      acceptedAt: undefined,
      refusedAt: START,
      refusedCode: "UNAUTHORIZED",
      refusedReason: "no signature matches",
    });
  });
});

describe("usualSilenceMs", () => {
  it("is twice the longest gap and an hour, once ten hours with calls span three days", () => {
    const daily = Array.from({ length: 10 }, (_, day) => day * DAY);
    expect(usualSilenceMs(daily)).toBe(2 * DAY + HOUR);
    expect(usualSilenceMs(daily.toReversed())).toBe(2 * DAY + HOUR);
    expect(usualSilenceMs(daily.slice(1))).toBeUndefined();
    expect(usualSilenceMs(Array.from({ length: 50 }, (_, hour) => hour * HOUR))).toBeUndefined();
    expect(usualSilenceMs([])).toBeUndefined();
  });
});
