import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { EventWrite } from "../../../../../src/core/host.ts";
import { SESSION_LIMITS } from "../../../../../src/hosts/shared/state-operations.ts";
import { gatewayConfig, TemporaryGateway } from "../state/temporary-gateway.ts";

const MAIN = "agent:main:main";
const DAY_MS = 24 * 60 * 60 * 1_000;

let gateway: TemporaryGateway;

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});

beforeEach(async () => {
  await gateway.reset();
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

function failureOf(write: Promise<void>): Promise<unknown> {
  return write.then(
    () => "stored",
    (error: unknown) => error,
  );
}

/** Stores a turn that takes the session's oldest events. */
async function turn(limit = 100, sessionKey = MAIN): Promise<void> {
  const eventIds = (await gateway.sessions.turnEvents(sessionKey, { limit, maxChars: 1e9 })).map(({ id }) => id);
  await gateway.sessions.appendTurn({ sessionKey, turnId: `t-${Math.random()}`, user: "u", assistant: "a", eventIds });
}

describe("the main session's key", () => {
  it("names the agent and the configured main key", () => {
    expect(gateway.sessions.mainSessionKey("ops")).toBe("agent:ops:main");
    gateway.config = gatewayConfig({ session: { ...gateway.config.session, mainKey: "desk" } });
    expect(gateway.sessions.mainSessionKey("ops")).toBe("agent:ops:desk");
  });
});

describe("a system event", () => {
  it("spec 4.1: waits in the session, in the order in which it came, with its time", async () => {
    const texts = Array.from({ length: 50 }, (_, n) => `event ${n}`);
    await Promise.all(texts.map((text) => gateway.wake(text)));
    expect(await gateway.pendingTexts()).toEqual(texts);
    expect((await gateway.sessions.pendingEvents(MAIN, { limit: 1 })).events).toEqual([
      { id: expect.any(Number) as number, text: "event 0", time: "2026-02-27T10:00:00.000Z" },
    ]);
  });

  it("leaves its session the rights that it came with, each once, and none at all when they become too many", async () => {
    const rights = (n: number) => ({ permissions: { allow: [{ tool: `tool-${n}` }] } });
    for (const [at, n] of [1, 2, 1].entries()) {
      const event = { sessionKey: MAIN, text: "t", idempotencyKey: `lowered-${at}`, rights: rights(n) };
      await gateway.sessions.enqueueSystemEvent(event);
    }
    await gateway.wake("as the agent");
    await turn();
    expect(await gateway.sessions.rights(MAIN)).toEqual([rights(1), rights(2)]);
    expect(await gateway.sessions.rights("agent:ops:main")).toEqual([]);
    for (let n = 3; n <= 40; n++) {
      await gateway.sessions.enqueueSystemEvent({
        sessionKey: MAIN,
        text: "t",
        idempotencyKey: `n${n}`,
        rights: rights(n),
      });
    }
    expect(await gateway.sessions.rights(MAIN)).toContainEqual({ permissions: "deny", egress: [] });
  });

  it("waits in its own session only", async () => {
    await gateway.wake("for main");
    await gateway.wake("for ops", "k", "agent:ops:main");
    expect(await gateway.pendingTexts()).toEqual(["for main"]);
    expect(await gateway.pendingTexts("agent:ops:main")).toEqual(["for ops"]);
    expect(await gateway.pendingTexts("agent:nobody:main")).toEqual([]);
  });

  it("is still there after a restart", async () => {
    await gateway.wake("survivor");
    await gateway.restart();
    expect(await gateway.pendingTexts()).toEqual(["survivor"]);
  });

  it("is read in pages", async () => {
    await Promise.all(["a", "b", "c"].map((text) => gateway.wake(text)));
    const first = await gateway.sessions.pendingEvents(MAIN, { limit: 2 });
    expect(first.events.map(({ text }) => text)).toEqual(["a", "b"]);
    const second = await gateway.sessions.pendingEvents(MAIN, { limit: 2, cursor: first.nextCursor! });
    expect(second).toMatchObject({ events: [{ text: "c" }], nextCursor: null });
  });

  it("is consumed by the turn that was given it, and by no other", async () => {
    await Promise.all(["a", "b", "c"].map((text) => gateway.wake(text)));
    await gateway.wake("foreign", "foreign", "agent:ops:main");
    const [a] = (await gateway.sessions.pendingEvents(MAIN, { limit: 1 })).events;
    const [foreign] = (await gateway.sessions.pendingEvents("agent:ops:main", { limit: 1 })).events;
    const eventIds = [a!.id, a!.id, foreign!.id, 999_999];
    await gateway.sessions.appendTurn({ sessionKey: MAIN, turnId: "t", user: "u", assistant: "a", eventIds });
    expect(await gateway.pendingTexts()).toEqual(["b", "c"]);
    expect(await gateway.pendingTexts("agent:ops:main")).toEqual(["foreign"]);
    const counts = (await gateway.sessions.list({ limit: 10 })).sessions.map(({ key, pendingEvents }) => [
      key,
      pendingEvents,
    ]);
    expect(Object.fromEntries(counts)).toEqual({ [MAIN]: 2, "agent:ops:main": 1 });
  });

  it("stays pending when its turn cannot be stored: nothing of the turn is", async () => {
    await gateway.wake("patient");
    const [event] = (await gateway.sessions.pendingEvents(MAIN, { limit: 1 })).events;
    const outgoing = { channel: "console", to: undefined as never, text: "x", idempotencyKey: "k" };
    const turn = { sessionKey: MAIN, turnId: "t", user: "u", assistant: "a", eventIds: [event!.id], outgoing };
    expect(await failureOf(gateway.sessions.appendTurn(turn))).toMatchObject({ name: "HostError", retryable: false });
    expect(await gateway.pendingTexts()).toEqual(["patient"]);
    expect(await gateway.texts()).toEqual([]);
    expect((await gateway.sessions.list({ limit: 1 })).sessions[0]).toMatchObject({ messages: 0, pendingEvents: 1 });
  });

  it("is refused for now when the database is closing", async () => {
    await gateway.database.close();
    expect(await failureOf(gateway.wake("late"))).toMatchObject({ name: "HostError", retryable: true });
    await gateway.restart();
  });
});

describe("an idempotency key", () => {
  it("drops the second event that carries it, also when both come at once", async () => {
    await Promise.all([gateway.wake("first", "key"), gateway.wake("second", "key")]);
    await gateway.wake("third", "key", "agent:ops:main");
    expect(await gateway.pendingTexts()).toEqual(["first"]);
    expect(await gateway.pendingTexts("agent:ops:main")).toEqual([]);
  });

  it("drops it even after the first was consumed, and after a restart", async () => {
    await gateway.wake("first", "key");
    await turn();
    await gateway.wake("second", "key");
    await gateway.restart();
    await gateway.wake("third", "key");
    expect(await gateway.pendingTexts()).toEqual([]);
  });

  it("may be of any length", async () => {
    const key = "k".repeat(100_000);
    await gateway.wake("first", `${key}1`);
    await gateway.wake("again", `${key}1`);
    await gateway.wake("other", `${key}2`);
    expect(await gateway.pendingTexts()).toEqual(["first", "other"]);
  });

  it("is remembered for seven days after its event came, then forgotten by and by", async () => {
    await gateway.wake("first", "key");
    await turn();
    gateway.now += 7 * DAY_MS;
    await turn();
    await gateway.wake("too early", "key");
    expect(await gateway.pendingTexts()).toEqual([]);
    gateway.now += 1;
    await turn();
    await gateway.wake("late enough", "key");
    expect(await gateway.pendingTexts()).toEqual(["late enough"]);
  });

  it("of an event that still waits is never forgotten, and keeps no later one from being", async () => {
    const waiting = Array.from({ length: 600 }, (_, n) => gateway.wake(`w${n}`, `w${n}`, "agent:idle:main"));
    await Promise.all([...waiting, gateway.wake("taken", "taken")]);
    await turn();
    gateway.now += 8 * DAY_MS;
    await Promise.all([turn(), turn(), turn()]);
    await Promise.all([gateway.wake("again", "taken"), gateway.wake("again", "w0"), gateway.wake("again", "w599")]);
    expect(await gateway.pendingTexts()).toEqual(["again"]);
  });
});

describe("the bounds of pending events", () => {
  it("refuse one too many for now, but not its copies, nor other sessions, and not for ever", async () => {
    const { maxPendingEvents } = SESSION_LIMITS;
    await Promise.all(Array.from({ length: maxPendingEvents }, (_, n) => gateway.wake("x", `k${n}`)));
    expect(await failureOf(gateway.wake("one too many"))).toMatchObject({
      retryable: true,
      message: 'The session "agent:main:main" has too many pending system events.',
    });
    expect(await failureOf(gateway.wake("copy", "k0"))).toBe("stored");
    expect(await failureOf(gateway.wake("elsewhere", "e", "agent:ops:main"))).toBe("stored");
    await turn(1);
    expect(await failureOf(gateway.wake("one too many"))).toBe("stored");
    expect(await failureOf(gateway.wake("two too many"))).toMatchObject({ retryable: true });
  });

  it("refuse too many bytes for now", async () => {
    const text = "é".repeat(SESSION_LIMITS.maxEventChars / 2);
    const fits = SESSION_LIMITS.maxPendingBytes / Buffer.byteLength(text);
    for (let n = 0; n < fits; n += 1) {
      await gateway.wake(text, `k${n}`);
    }
    expect(await failureOf(gateway.wake("x"))).toMatchObject({ retryable: true });
    await turn(1);
    expect(await failureOf(gateway.wake("x"))).toBe("stored");
  });

  it("refuse a text that is too long permanently, and keep one of exactly that length whole", async () => {
    const text = "x".repeat(SESSION_LIMITS.maxEventChars);
    expect(await failureOf(gateway.wake(`${text}x`, "long"))).toMatchObject({ retryable: false });
    await gateway.wake(text, "exact");
    expect(await gateway.pendingTexts()).toEqual([text]);
  });
});

describe("the write of an event for the commit of a call", () => {
  const request = { agentId: "main", sessionKey: MAIN, reason: "hook:wake" };
  const event = { sessionKey: MAIN, text: "The disk is full.", idempotencyKey: "run-1" };
  const carryOut = (write: EventWrite | undefined): Promise<unknown> =>
    gateway.database.write(write!.operation, write!.args);

  it("stores the event once, with what it leaves of the agent's rights and with its turn, and returns nothing", async () => {
    const rights = { permissions: "deny", egress: ["api.example.com"] } as const;
    const write = gateway.sessions.eventWrite({ ...event, rights }, request);
    expect(write?.storesTurn).toBe(true);
    expect(await carryOut(write)).toBeUndefined();
    expect(await carryOut(write)).toBeUndefined();
    await gateway.sessions.enqueueSystemEvent(event);
    expect(await gateway.pendingTexts()).toEqual([event.text]);
    expect(await gateway.sessions.rights(MAIN)).toEqual([rights]);
    expect(await gateway.sessions.requestedTurns()).toEqual([{ ...request, pending: 1 }]);
  });

  it("asks for no turn when none is given", async () => {
    const write = gateway.sessions.eventWrite(event, undefined);
    expect(write?.storesTurn).toBe(false);
    await carryOut(write);
    expect(await gateway.sessions.requestedTurns()).toEqual([]);
  });

  it("returns something and stores nothing when the session needs a turn to have room", async () => {
    const text = "x".repeat(SESSION_LIMITS.maxEventChars);
    const most = Math.floor((0.9 * SESSION_LIMITS.maxPendingBytes) / text.length);
    for (let n = 0; n <= most; n++) await gateway.wake(text, `k${n}`);
    expect(await carryOut(gateway.sessions.eventWrite(event, request))).toBe("full");
    expect(await gateway.sessions.requestedTurns()).toEqual([]);
    await turn(1);
    expect(await carryOut(gateway.sessions.eventWrite(event, request))).toBeUndefined();
  });

  it("is none for a text that is too long, and for the owner's own message", () => {
    const tooLong = { ...event, text: "x".repeat(SESSION_LIMITS.maxEventChars + 1) };
    const owner = { channel: "telegram", to: "1" };
    expect(gateway.sessions.eventWrite(tooLong, undefined)).toBeUndefined();
    expect(gateway.sessions.eventWrite({ ...event, owner }, undefined)).toBeUndefined();
  });
});

describe("the events of one turn", () => {
  it("are the oldest, as many as fit", async () => {
    await Promise.all(Array.from({ length: 120 }, (_, n) => gateway.wake(`${n}`)));
    expect(await gateway.sessions.turnEvents(MAIN, { limit: 100, maxChars: 65_536 })).toHaveLength(100);
    const few = await gateway.sessions.turnEvents(MAIN, { limit: 100, maxChars: 5 });
    expect(few.map(({ text }) => text)).toEqual(["0", "1", "2", "3", "4"]);
  });

  it("are at least one, however long", async () => {
    await gateway.wake("x".repeat(100), "long");
    await gateway.wake("y");
    expect(await gateway.sessions.turnEvents(MAIN, { limit: 100, maxChars: 10 })).toHaveLength(1);
    expect(await gateway.sessions.turnEvents("agent:nobody:main", { limit: 100, maxChars: 10 })).toEqual([]);
  });
});

describe("a requested turn", () => {
  const request = { agentId: "main", sessionKey: MAIN, reason: "hook:wake" };

  it("is remembered across a restart for as long as events wait", async () => {
    await gateway.wake("a");
    await gateway.wake("b");
    await gateway.sessions.storeTurnRequest(request);
    await gateway.restart();
    expect(await gateway.sessions.requestedTurns()).toEqual([{ ...request, pending: 2 }]);
    await turn(1);
    expect(await gateway.sessions.requestedTurns()).toEqual([{ ...request, pending: 1 }]);
    await turn(1);
    await gateway.wake("for the next heartbeat");
    expect(await gateway.sessions.requestedTurns()).toEqual([]);
  });

  it("is not remembered for a session without events, nor for events that requested no turn", async () => {
    await gateway.sessions.storeTurnRequest({ ...request, sessionKey: "agent:idle:main" });
    await gateway.wake("for the next heartbeat");
    expect(await gateway.sessions.requestedTurns()).toEqual([]);
  });
});
