import { describe, expect, it } from "vitest";
import { SubscribedGateway, type Wanted, upTo } from "./subscribed-gateway.ts";
import type { SourceOptions } from "./event-source.ts";

const start = (wanted: Wanted = {}, options: SourceOptions = {}): Promise<SubscribedGateway> =>
  SubscribedGateway.start({ isPublic: false, ...wanted }, options);

describe("a subscription without a public URL", () => {
  it.each([true, false])(
    "polls each event once, over restarts of both sides (the protocol of 2026: %s)",
    async (isModern) => {
      const subscribed = await start({}, { isModern });
      const { source } = subscribed;
      await subscribed.untilActive("poll");
      source.emit(120);
      await subscribed.untilTaken(120);
      await source.stop();
      source.emit(10);
      await source.start();
      await subscribed.untilTaken(130);
      source.emit(30);
      await subscribed.gateway.stop();
      source.emit(10);
      await subscribed.run();
      await subscribed.untilTaken(170);
      expect(await subscribed.numbers()).toEqual(upTo(170));
      expect(source.requests.some(({ method }) => method === "events/subscribe")).toBe(false);
      expect(source.requests[0]?.version).toBe(isModern ? "2026-07-28" : "2025-11-25");
    },
  );

  it("becomes one by webhook with a public URL, and one by polling again without it, and loses nothing", async () => {
    const subscribed = await start();
    const { source } = subscribed;
    await subscribed.untilActive("poll");
    source.emit(5);
    await subscribed.reload({ isPublic: true });
    await subscribed.untilActive("webhook");
    source.emit(5);
    await subscribed.untilTaken(10);
    await subscribed.reload({ isPublic: false });
    await subscribed.untilActive("poll");
    expect(source.subscriptions.size).toBe(0);
    source.emit(5);
    await subscribed.untilTaken(15);
    expect(await subscribed.numbers()).toEqual(upTo(15));
  });

  it("learns of a gap, and goes on after it", async () => {
    const subscribed = await start();
    const { source } = subscribed;
    await subscribed.untilActive("poll");
    await subscribed.gateway.stop();
    source.emit(10);
    source.floor = 7;
    await subscribed.run();
    await subscribed.untilTaken(3);
    expect(await subscribed.numbers()).toEqual(upTo(10, 8));
    const { lines } = subscribed.fixture.logger;
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: "the server says that events are missing" }),
    );
  });

  it("leaves out an event that is too large or none, takes the others, and tells the owner", async () => {
    const subscribed = await start();
    const { source } = subscribed;
    await subscribed.untilActive("poll");
    source.emit(3);
    source.events[1] = { ...source.events[1]!, data: { text: "x".repeat(300_000) } };
    await subscribed.untilTaken(2);
    source.scripted.push(() => ({
      events: [{ type: "terminated" }, null, 7],
      cursor: "c3",
      hasMore: false,
      nextPollMs: 0,
    }));
    source.emit(1);
    await subscribed.untilTaken(3);
    expect(await subscribed.numbers()).toEqual([1, 3, 4]);
    expect(await subscribed.outages()).toEqual(["subscription:incidents:refused"]);
  });

  it("does not advance while its own gateway takes nothing", async () => {
    const subscribed = await start({ hooks: { maxQueuedRuns: 5 } });
    const { source } = subscribed;
    await subscribed.untilActive("poll");
    await subscribed.ask("hooks/incidents/pause");
    source.emit(20);
    const problem = expect.stringContaining("503") as string;
    await expect.poll(() => subscribed.state()).toMatchObject({ state: "failing", problem });
    await subscribed.ask("hooks/incidents/resume");
    await subscribed.untilTaken(20);
    expect(await subscribed.numbers()).toEqual(upTo(20));
  });
});

/** As the scenarios `events-client-poll` and `events-client-webhook` of the MCP project grade a client. */
describe("a client of MCP Events", () => {
  const polls = ({ source }: SubscribedGateway) => source.requests.filter(({ method }) => method === "events/poll");

  it("reads on at once while there is more, and otherwise waits as the server says", async () => {
    const subscribed = await start();
    const { source } = subscribed;
    const event = (id: string) => ({
      eventId: id,
      name: "incident.created",
      timestamp: "2026-11-25T12:00:00Z",
      data: {},
    });
    await subscribed.untilActive("poll");
    await subscribed.gateway.stop();
    source.requests.length = 0;
    source.scripted.push(
      () => ({ events: [event("a")], cursor: "tick-1", hasMore: true, nextPollMs: 3_600_000 }),
      () => ({ events: [event("b")], cursor: "tick-2", hasMore: false, nextPollMs: 20 }),
      () => ({ events: [], cursor: "tick-3", hasMore: false, nextPollMs: 0 }),
      () => ({ events: [], cursor: "tick-fresh", truncated: true, hasMore: false, nextPollMs: 0 }),
      () => ({ events: [], cursor: "tick-5", hasMore: false, nextPollMs: 3_600_000 }),
    );
    await subscribed.run();
    // Neither hour is waited for: there is more after the first, and no later poll after the second.
    await expect.poll(() => source.scripted.length).toBe(0);
    const cursors = polls(subscribed).map(({ params }) => params["cursor"]);
    expect(cursors.slice(1)).toEqual(["tick-1", "tick-2", "tick-3", "tick-fresh"]);
    await expect
      .poll(async () => Date.parse((await subscribed.state())?.nextAt ?? ""))
      .toBeGreaterThan(Date.now() + 1_800_000);
  });

  it("never sends a cursor after null, and takes an absent one for null", async () => {
    const subscribed = await start();
    const { source } = subscribed;
    await subscribed.untilActive("poll");
    source.scripted.push(
      () => ({ events: [], cursor: "c0", nextPollMs: 0 }),
      () => ({ events: [], cursor: null, nextPollMs: 0 }),
      () => ({ events: [], nextPollMs: 0 }),
      () => ({ events: [], nextPollMs: 3_600_000 }),
    );
    await expect.poll(() => source.scripted.length).toBe(0);
    const cursors = polls(subscribed).map(({ params }) => params["cursor"]);
    expect(cursors.slice(-2)).toEqual([null, null]);
  });

  it("refreshes with the same key before its grant ends", async () => {
    const subscribed = await SubscribedGateway.start({}, { ttlMs: 2_500 });
    const subscribes = () => subscribed.source.requests.filter(({ method }) => method === "events/subscribe");
    await expect.poll(() => subscribes().length).toBeGreaterThanOrEqual(3);
    const keys = subscribes().map(({ params }) => [
      params["name"],
      params["arguments"],
      (params["delivery"] as { url: string }).url,
    ]);
    expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(1);
    expect(subscribes()[0]?.params["arguments"]).toEqual({ severity: "P1" });
    expect(subscribed.source.subscriptions.size).toBe(1);
  });

  it.each([
    [
      "has no such event",
      "draft" as const,
      { delivery: ["poll"] },
      { event: "incident.closed" },
      "it lists incident.created",
    ],
    ["pushes alone", "draft" as const, { delivery: ["push"] }, {}, "there is no public URL"],
  ])("says so where the server %s", async (_what, dialect, options, change, problem) => {
    const subscribed = await start({}, { dialect, ...options });
    await subscribed.reload({
      isPublic: false,
      hooks: {
        subscriptions: {
          incidents: {
            server: { url: subscribed.source.url, token: subscribed.source.token },
            event: "incident.created",
            ...change,
          },
        },
      },
    });
    await expect
      .poll(() => subscribed.state())
      .toMatchObject({ state: "failing", problem: expect.stringContaining(problem) as string });
    expect(await subscribed.outages()).toEqual(["subscription:incidents"]);
  });

  it.each([
    ["an answer of another form", { events: "all", cursor: 7 }],
    ["too many events", { events: Array.from({ length: 1_001 }, () => ({})), cursor: null }],
    ["a cursor without end", { events: [], cursor: "c".repeat(10_000) }],
    ["a time that is none", { events: [], cursor: null, nextPollMs: -1 }],
  ])("goes on after %s", async (_what, answer) => {
    const subscribed = await start();
    const { source } = subscribed;
    await subscribed.untilActive("poll");
    source.scripted.push(
      () => answer,
      () => answer,
    );
    source.emit(1);
    await subscribed.untilTaken(1);
    await subscribed.untilActive("poll");
    expect(JSON.stringify(subscribed.fixture.logger.lines)).toContain(
      "is not what the protocol says, or exceeds a limit",
    );
  });
});
