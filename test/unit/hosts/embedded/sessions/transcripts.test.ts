import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { InvalidCursorError } from "../../../../../src/hosts/embedded/state/page-cursor.ts";
import { STATE_LIMITS } from "../../../../../src/hosts/embedded/state/operations.ts";
import { START, TemporaryGateway } from "../state/temporary-gateway.ts";

const MAIN = "agent:main:main";

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

function keysOf(sessions: readonly { readonly key: string }[]): string[] {
  return sessions.map(({ key }) => key);
}

async function turn(user: string, assistant: string, sessionKey = MAIN): Promise<void> {
  await gateway.sessions.appendTurn({ sessionKey, turnId: `t-${user}`, user, assistant, eventIds: [] });
}

async function run(runId: string, sessionKey = "hook:x"): Promise<void> {
  await gateway.sessions.beginRun({ sessionKey, runId, prompt: `prompt of ${runId}` });
  await gateway.sessions.endRun({ sessionKey, runId, role: "assistant", text: `reply of ${runId}` });
}

describe("a transcript", () => {
  it("holds role, text, time and run of every message, oldest first, across a restart", async () => {
    await gateway.sessions.beginRun({ sessionKey: "hook:x", runId: "r1", prompt: "do it" });
    gateway.now += 1_500;
    await gateway.sessions.endRun({ sessionKey: "hook:x", runId: "r1", role: "error", text: "no model" });
    await gateway.restart();
    expect(await gateway.sessions.messages("hook:x", { limit: 10 })).toEqual({
      messages: [
        { id: 1, role: "user", text: "do it", time: new Date(START).toISOString(), runId: "r1" },
        { id: 2, role: "error", text: "no model", time: new Date(START + 1_500).toISOString(), runId: "r1" },
      ],
      nextCursor: null,
    });
  });

  it("is read in pages, and is empty for an unknown key", async () => {
    await run("r1");
    await run("r2");
    const first = await gateway.sessions.messages("hook:x", { limit: 3 });
    expect(first.messages.map(({ text }) => text)).toEqual(["prompt of r1", "reply of r1", "prompt of r2"]);
    const second = await gateway.sessions.messages("hook:x", { limit: 3, cursor: first.nextCursor! });
    expect(second).toMatchObject({ messages: [{ text: "reply of r2" }], nextCursor: null });
    expect(await gateway.sessions.messages("nobody", { limit: 3 })).toEqual({ messages: [], nextCursor: null });
  });

  it("begins once for a run id: of two at the same time one is refused", async () => {
    const begin = (sessionKey: string) => gateway.sessions.beginRun({ sessionKey, runId: "r1", prompt: "p" });
    expect(await Promise.all([begin("hook:x"), begin("hook:y")])).toEqual([true, false]);
    expect(await begin("hook:x")).toBe(false);
    expect(await gateway.texts("hook:x")).toEqual(["user: p"]);
    expect(await gateway.texts("hook:y")).toEqual([]);
  });

  it("is kept when its session is gone by the time the run ends", async () => {
    await gateway.sessions.endRun({ sessionKey: "hook:late", runId: "r9", role: "assistant", text: "done" });
    expect(await gateway.texts("hook:late")).toEqual(["assistant: done"]);
  });

  it("cuts a message that is too long to keep, and says so", async () => {
    const long = `${"x".repeat(STATE_LIMITS.maxMessageChars)}12345`;
    await gateway.sessions.beginRun({ sessionKey: "hook:x", runId: "r1", prompt: long });
    expect(await gateway.texts("hook:x")).toEqual([`user: ${long.slice(0, -5)}\n[5 more characters were not kept]`]);
  });
});

describe("the conversation of a session", () => {
  it("is its own turns, oldest first, without the isolated runs under its key", async () => {
    await turn("one", "two");
    await run("r1", MAIN);
    await turn("three", "four");
    expect(await gateway.sessions.conversation(MAIN, { limit: 10, maxChars: 1_000 })).toEqual([
      { role: "user", text: "one" },
      { role: "assistant", text: "two" },
      { role: "user", text: "three" },
      { role: "assistant", text: "four" },
    ]);
    expect(await gateway.texts()).toHaveLength(6);
  });

  it("is the latest that fits and begins with the user", async () => {
    await turn("one", "two");
    await turn("three", "four");
    const read = async (limit: number, maxChars: number) =>
      (await gateway.sessions.conversation(MAIN, { limit, maxChars })).map(({ text }) => text);
    expect(await read(3, 1_000)).toEqual(["three", "four"]);
    expect(await read(10, 9)).toEqual(["three", "four"]);
    expect(await read(10, 8)).toEqual([]);
    expect(await read(10, 12)).toEqual(["three", "four"]);
    expect(await read(10, 15)).toEqual(["one", "two", "three", "four"]);
  });

  it("has a reply to each prompt, also an empty one", async () => {
    await turn("one", "");
    expect(await gateway.sessions.conversation(MAIN, { limit: 10, maxChars: 1_000 })).toEqual([
      { role: "user", text: "one" },
      { role: "assistant", text: "" },
    ]);
  });
});

describe("the list of sessions", () => {
  it("gives counts and times, newest activity first", async () => {
    await run("r1", "hook:a");
    gateway.now += 1_000;
    await run("r2", "hook:b");
    await gateway.wake("pending");
    gateway.now += 1_000;
    await turn("u", "a");
    gateway.now += 1_000;
    await run("r3", "hook:a");
    const at = (ms: number) => new Date(START + ms).toISOString();
    expect(await gateway.sessions.list({ limit: 10 })).toEqual({
      sessions: [
        { key: "hook:a", createdAt: at(0), lastActivityAt: at(3_000), messages: 4, pendingEvents: 0 },
        { key: MAIN, createdAt: at(1_000), lastActivityAt: at(2_000), messages: 2, pendingEvents: 1 },
        { key: "hook:b", createdAt: at(1_000), lastActivityAt: at(1_000), messages: 2, pendingEvents: 0 },
      ],
      nextCursor: null,
    });
  });

  it("is read in pages, also where activity was at the same moment", async () => {
    await Promise.all(["a", "b", "c", "d", "e"].map((name) => run(name, `hook:${name}`)));
    const keys: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await gateway.sessions.list({ limit: 2, cursor });
      keys.push(...keysOf(page.sessions));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(keys).toEqual(["hook:e", "hook:d", "hook:c", "hook:b", "hook:a"]);
  });

  it("refuses a cursor that it did not give out", async () => {
    await expect(gateway.sessions.list({ limit: 2, cursor: "1" })).rejects.toThrow(InvalidCursorError);
    await expect(gateway.sessions.messages("x", { limit: 2, cursor: "1.2" })).rejects.toThrow(InvalidCursorError);
    await expect(gateway.sessions.pendingEvents("x", { limit: 2, cursor: "'" })).rejects.toThrow(InvalidCursorError);
  });
});

describe("the last route", () => {
  it("belongs to the agent's main session and outlives the process", async () => {
    expect(await gateway.sessions.lastRoute("main")).toBeUndefined();
    await gateway.sessions.setLastRoute("main", { channel: "console", to: "owner" });
    expect(await gateway.sessions.lastRoute("main")).toEqual({ channel: "console", to: "owner" });
    expect(await gateway.sessions.lastRoute("ops")).toBeUndefined();
    await gateway.sessions.setLastRoute("main", { channel: "webhook", to: "me" });
    await gateway.restart();
    expect(await gateway.sessions.lastRoute("main")).toEqual({ channel: "webhook", to: "me" });
  });

  it("stays right when more agents are asked for than are held in memory", async () => {
    await gateway.sessions.setLastRoute("main", { channel: "console", to: "owner" });
    for (let n = 0; n < 1_500; n += 1) {
      expect(await gateway.sessions.lastRoute(`agent-${n}`)).toBeUndefined();
    }
    expect(await gateway.sessions.lastRoute("main")).toEqual({ channel: "console", to: "owner" });
  });
});

describe("what is kept", () => {
  it("of a session of isolated runs are its latest 200 messages", async () => {
    const runs = Array.from({ length: STATE_LIMITS.maxRunSessionMessages }, (_, n) => run(`r${n}`));
    await Promise.all(runs);
    const { messages } = await gateway.sessions.messages("hook:x", { limit: 200 });
    expect(messages).toHaveLength(200);
    expect((await gateway.sessions.list({ limit: 1 })).sessions[0]).toMatchObject({ messages: 200 });
    expect(messages.at(-1)!.text).toBe("reply of r199");
    expect(messages.map(({ text }) => text)).not.toContain("prompt of r0");
  });

  it("of a session with turns of its own are its latest 1,000 messages", async () => {
    await Promise.all(Array.from({ length: 510 }, (_, n) => turn(`u${n}`, `a${n}`)));
    expect((await gateway.sessions.list({ limit: 1 })).sessions[0]).toMatchObject({ messages: 1_000 });
    expect((await gateway.texts())[0]).toBe("user: u10");
  });

  it("are the 10,000 sessions of isolated runs that were used last, and every other session", async () => {
    const { maxRunSessions } = STATE_LIMITS;
    const begin = (n: number) => gateway.sessions.beginRun({ sessionKey: `hook:${n}`, runId: `r${n}`, prompt: "p" });
    await gateway.wake("kept");
    gateway.now += 1;
    await Promise.all(Array.from({ length: maxRunSessions }, (_, n) => begin(n)));
    gateway.now += 1;
    await run("again", "hook:0");
    gateway.now += 1;
    await Promise.all(Array.from({ length: 64 }, (_, n) => begin(maxRunSessions + n)));
    expect(await gateway.pendingTexts()).toEqual(["kept"]);
    expect(await gateway.texts("hook:0")).toHaveLength(3);
    expect(await gateway.texts("hook:1")).toEqual([]);
    expect(await gateway.texts(`hook:${maxRunSessions + 63}`)).toHaveLength(1);
    const count = gateway.database.reader.prepare("SELECT count(*) AS n FROM embedded_session").get() as { n: number };
    expect(count.n).toBeLessThanOrEqual(maxRunSessions + 20);
    const orphans = gateway.database.reader
      .prepare("SELECT count(*) AS n FROM embedded_message WHERE session NOT IN (SELECT id FROM embedded_session)")
      .get();
    expect(orphans).toEqual({ n: 0 });
  });

  it("of the outbox are the latest 10,000 messages", async () => {
    const { maxOutboxMessages } = STATE_LIMITS;
    const record = (n: number) =>
      gateway.database.write("embedded.recordMessage", {
        message: { channel: "console", to: "owner", text: `m${n}`, idempotencyKey: `k${n}` },
        state: "sent",
        at: gateway.now,
      });
    await Promise.all(Array.from({ length: maxOutboxMessages + 10 }, (_, n) => record(n)));
    const kept = gateway.database.reader.prepare("SELECT count(*) AS n, min(text) AS first FROM embedded_outbox").get();
    expect(kept).toMatchObject({ n: maxOutboxMessages });
  });
});
