import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventQueue } from "../../../../src/hosts/openclaw/event-queue.ts";
import type { EventQueueOptions, LatestTurn } from "../../../../src/hosts/openclaw/event-queue.ts";
import { hostSession } from "../../../../src/hosts/openclaw/read-config.ts";
import type { OpenClawConfig } from "../../../../src/hosts/openclaw/sdk.ts";

const MAIN = "agent:main:main";
const request = { agentId: "main", sessionKey: MAIN, reason: "hook:wake" };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One session's queue over a host whose turns the test makes. */
class Fixture {
  readonly events = new Map<number, string>();
  readonly hostQueue: { id: string; text: string; contextKey: string }[] = [];
  readonly turns: Parameters<EventQueueOptions["system"]["requestHeartbeat"]>[0][] = [];
  readonly enqueued: { text: string; sessionKey: string; agentId: string }[] = [];
  readonly stalls: boolean[] = [];
  readonly taken: string[] = [];
  readonly warnings: string[] = [];
  latest: LatestTurn | undefined;
  /** The number of next events that the host does not take. */
  refusals = 0;
  /** How often the events that wait were read. */
  reads = 0;
  #lastId = 0;
  readonly queue: EventQueue;

  constructor({ config = {}, peeks = true }: { config?: OpenClawConfig; peeks?: boolean } = {}) {
    const silent = { debug: () => {}, info: () => {}, error: () => {} };
    this.queue = new EventQueue(MAIN, {
      state: {
        pendingEvents: () => {
          this.reads++;
          return [...this.events].map(([id, text]) => ({ id, key: `key ${id}`, text }));
        },
        consumeEvents: async (_session, ids) => ids.forEach((id) => this.events.delete(id)),
      },
      system: {
        enqueueSystemEvent: (text, { sessionKey, agentId, contextKey }) => {
          if (this.refusals-- > 0) return false;
          this.enqueued.push({ text, sessionKey, agentId });
          const place = this.hostQueue.findIndex((event) => event.contextKey === contextKey);
          if (place !== -1) this.hostQueue.splice(place, 1);
          this.hostQueue.push({ id: `${this.enqueued.length}`, text, contextKey });
          return true;
        },
        requestHeartbeat: (turn) => void this.turns.push(turn),
      },
      peek: peeks ? () => [...this.hostQueue] : undefined,
      hostSession: (session) => hostSession(config, session),
      latestTurn: () => this.latest,
      onTaken: (keys) => void this.taken.push(...keys),
      onStalled: (_session, isStalled) => void this.stalls.push(isStalled),
      clock: { now: () => Date.now() },
      logger: { ...silent, warn: (_fields, message) => void this.warnings.push(message) },
    });
  }

  wake(text: string): void {
    this.events.set(++this.#lastId, text);
    this.queue.nudge();
    this.queue.nudge(request);
  }

  cancel(id: number): void {
    this.events.delete(id);
    this.queue.nudge();
  }

  endTurn(): void {
    this.hostQueue.length = 0;
    this.latest = { status: "done", endedAt: Date.now() };
  }
}

it("puts events where conversations of the host share one session, and names their agent", async () => {
  const fixture = new Fixture({ config: { session: { scope: "global" } } });
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(100);
  expect(fixture.enqueued).toEqual([{ text: "one", sessionKey: "global", agentId: "main" }]);
  expect(fixture.turns).toEqual([expect.objectContaining({ sessionKey: "global", agentId: "main" })]);
});

it.each([
  { agents: { defaults: { heartbeat: { isolatedSession: true } } } },
  { agents: { entries: { main: { heartbeat: { isolatedSession: true } } } } },
])("asks for a turn of the main session where heartbeats run in one of their own", async (config) => {
  const fixture = new Fixture({ config });
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(100);
  expect(fixture.turns).toEqual([expect.objectContaining({ sessionKey: MAIN, heartbeat: { isolatedSession: false } })]);
});

it("leaves an agent's heartbeat settings alone where they say nothing of a session", async () => {
  const fixture = new Fixture({ config: { agents: { entries: { ops: { heartbeat: { isolatedSession: true } } } } } });
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(100);
  expect(fixture.turns[0]).not.toHaveProperty("heartbeat");
});

it.each([true, false])(
  "reads the events that wait once, however long no turn comes; shown queues: %s",
  async (peeks) => {
    const fixture = new Fixture({ peeks });
    fixture.wake("one");
    await vi.advanceTimersByTimeAsync(100);
    const { reads } = fixture;
    await vi.advanceTimersByTimeAsync(1_800_000);
    expect(fixture.reads).toBe(reads);
    fixture.wake("two");
    await vi.advanceTimersByTimeAsync(1_000);
    if (peeks) expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["one\ntwo"]);
    fixture.endTurn();
    await vi.advanceTimersByTimeAsync(1_000);
    if (!peeks) expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["two"]);
    fixture.endTurn();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fixture.taken).toEqual(["key 1", "key 2"]);
  },
);

it("waits for no clock that was set back while a turn had taken an event, or after one had failed", async () => {
  const fixture = new Fixture();
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(100);
  vi.setSystemTime(Date.now() - 3_600_000);
  fixture.endTurn();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fixture.taken).toEqual(["key 1"]);
  fixture.wake("two");
  await vi.advanceTimersByTimeAsync(100);
  fixture.endTurn();
  fixture.latest = { status: "failed", endedAt: Date.now() };
  await vi.advanceTimersByTimeAsync(1_000);
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["two"]);
});

it("offers an event again that the host does not take at first, with nothing else coming", async () => {
  const fixture = new Fixture();
  fixture.refusals = 3;
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["one"]);
});

it("requests turns that do not come more and more rarely, reports the stall once, and its end", async () => {
  const fixture = new Fixture();
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(2 * 3_600_000);
  // One each ten minutes, and seven in the first ten.
  expect(fixture.turns.length).toBeLessThan(20);
  expect(fixture.turns.length).toBeGreaterThan(12);
  expect(fixture.stalls).toEqual([true]);
  expect(fixture.warnings).toEqual(["system events wait: no turn of the host takes them"]);
  expect([...fixture.events.values()]).toEqual(["one"]);
  fixture.endTurn();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(fixture.events.size).toBe(0);
  expect(fixture.taken).toEqual(["key 1"]);
  expect(fixture.stalls).toEqual([true, false]);
});

it("hands over again what left the queue without a turn while others stayed in it, however long the queue is", async () => {
  const fixture = new Fixture();
  fixture.wake("ours");
  await vi.advanceTimersByTimeAsync(100);
  fixture.hostQueue.push({ id: "x", text: "theirs", contextKey: "cron:1" });
  await vi.advanceTimersByTimeAsync(100);
  fixture.hostQueue.shift();
  await vi.advanceTimersByTimeAsync(200);
  expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["theirs", "ours"]);
});

it("counts events as taken when a turn has ended and others are in the queue since", async () => {
  const fixture = new Fixture();
  fixture.wake("ours");
  await vi.advanceTimersByTimeAsync(100);
  fixture.endTurn();
  fixture.hostQueue.push({ id: "x", text: "theirs", contextKey: "cron:1" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fixture.events.size).toBe(0);
  expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["theirs"]);
});

it("waits for the end of a turn in a host that does not show its queues", async () => {
  const fixture = new Fixture({ peeks: false });
  fixture.wake("one");
  await vi.advanceTimersByTimeAsync(600_000);
  expect([...fixture.events.values()]).toEqual(["one"]);
  expect(fixture.turns.length).toBeGreaterThan(5);
  expect(fixture.enqueued).toHaveLength(1);
  fixture.endTurn();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fixture.events.size).toBe(0);
});

describe.each([true, false])("a wake that is canceled, in a host that shows its queues: %s", (peeks) => {
  it("leaves the host's queue also when it was the last, and a later one goes before the agent as before", async () => {
    const fixture = new Fixture({ peeks });
    fixture.wake("secret");
    await vi.advanceTimersByTimeAsync(300);
    fixture.cancel(1);
    await vi.advanceTimersByTimeAsync(300);
    expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["A webhook event was canceled."]);
    expect(fixture.enqueued).toHaveLength(2);

    fixture.wake("next");
    await vi.advanceTimersByTimeAsync(300);
    expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["next"]);
    fixture.endTurn();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fixture.taken).toEqual(["key 2"]);
    expect(fixture.events.size).toBe(0);
  });

  it("leaves the host's queue while others wait", async () => {
    const fixture = new Fixture({ peeks });
    fixture.wake("secret");
    fixture.wake("kept");
    await vi.advanceTimersByTimeAsync(300);
    fixture.cancel(1);
    await vi.advanceTimersByTimeAsync(300);
    expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["kept"]);
  });

  it("changes nothing once its turn has begun", async () => {
    const fixture = new Fixture({ peeks });
    fixture.wake("begun");
    await vi.advanceTimersByTimeAsync(300);
    fixture.hostQueue.length = 0;
    fixture.latest = { status: "running" };
    fixture.cancel(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fixture.hostQueue).toEqual([]);
    fixture.endTurn();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fixture.hostQueue).toEqual([]);
  });

  it("ends the stall of a session in which nothing else waits", async () => {
    const fixture = new Fixture({ peeks });
    fixture.wake("one");
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(fixture.stalls).toEqual([true]);
    fixture.cancel(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fixture.stalls).toEqual([true, false]);
  });

  it("is replaced later when the host does not take the other text at first", async () => {
    const fixture = new Fixture({ peeks });
    fixture.wake("secret");
    await vi.advanceTimersByTimeAsync(300);
    fixture.refusals = 1;
    fixture.cancel(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["A webhook event was canceled."]);
  });
});

it("replaces a canceled wake that the instance before a reload has put into the host's queue", async () => {
  const fixture = new Fixture();
  fixture.hostQueue.push({ id: "x", text: "secret", contextKey: "reveille:events" });
  fixture.cancel(1);
  await vi.advanceTimersByTimeAsync(100);
  expect(fixture.hostQueue.map(({ text }) => text)).toEqual(["A webhook event was canceled."]);
});
