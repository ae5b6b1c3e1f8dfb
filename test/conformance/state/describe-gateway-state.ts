/** What every store of the embedded gateway's state promises. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { STATE_LIMITS } from "../../../src/hosts/embedded/state/operations.ts";
import type { ArgsOf, StateStore, WriteName } from "../../../src/hosts/embedded/state/state-store.ts";
import type { StateWrites } from "../../../src/hosts/embedded/state/state-writes.ts";
import { SESSION_LIMITS } from "../../../src/hosts/shared/state-operations.ts";

export interface OpenedState {
  readonly state: StateStore;
  /** Carries out one statement that each database understands, beside the state, and returns the rows. */
  readonly sql: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Closes it and opens it again, as a new process does. */
  readonly reopen: () => Promise<StateStore>;
  readonly dispose: () => Promise<void>;
}

const MAIN = "agent:main:main";
const NOW = 1_000_000;
const ALL = { limit: 200 };
const FITS = { limit: 100, maxChars: 10_000 };
const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

type Write<Name extends WriteName = WriteName> = Name extends WriteName
  ? readonly [name: Name, ...args: ArgsOf<StateWrites, Name>]
  : never;

export function describeGatewayState(name: string, open: () => Promise<OpenedState>): void {
  describe(`the state of the gateway in ${name}`, () => {
    let opened: OpenedState;
    let state: StateStore;

    beforeEach(async () => {
      opened = await open();
      ({ state } = opened);
    });
    afterEach(() => opened.dispose());

    /** In the order in which they are given, also where they share a commit. */
    async function commit(...writes: readonly Write[]): Promise<unknown> {
      return (await Promise.all(writes.map(([write, args]) => state.write(write, args as never)))).at(-1);
    }

    const enqueue = (key: string, at = 1, sessionKey = MAIN): Write => [
      "enqueue",
      { sessionKey, key, text: `text of ${key}`, at },
    ];
    const turn = (eventIds: readonly number[], at: number, extra: object = {}): Write => [
      "appendTurn",
      {
        sessionKey: MAIN,
        turnId: `t${at}`,
        user: `asked at ${at}`,
        assistant: `answered at ${at}`,
        eventIds,
        at,
        ...extra,
      },
    ];
    const run = (runId: string, at: number, sessionKey = "hook:x", text = "reply"): readonly [Write, Write] => [
      ["beginRun", { sessionKey, runId, prompt: `prompt of ${runId}`, at }],
      ["endRun", { sessionKey, runId, role: "assistant", text, at }],
    ];
    const pendingTexts = async () => (await state.read("pendingEvents", MAIN, ALL)).events.map(({ text }) => text);
    const texts = async (key: string) => (await state.read("messages", key, ALL)).messages.map(({ text }) => text);
    const sessions = async () =>
      Object.fromEntries((await state.read("list", ALL)).sessions.map(({ key, messages }) => [key, messages]));
    const rows = async (table: string) =>
      Number((await opened.sql(`SELECT count(*) AS n FROM embedded_${table}`))[0]!["n"]);
    const forget = async (before: number, maxBytes: number | null = null) => {
      const removed: number[] = [];
      for (let after: number | null = 0; after !== null;) {
        const outcome: { removed: number; next: number | null } = await state.write("forgetRuns", {
          after,
          before,
          maxBytes,
          endedBefore: 0,
          now: NOW,
        });
        removed.push(outcome.removed);
        after = outcome.next;
      }
      return removed;
    };

    it("keeps what was written when it is opened again", async () => {
      await commit(enqueue("a"), ...run("r1", 1), [
        "setRoute",
        { sessionKey: MAIN, channel: "console", to: "ada", at: 1 },
      ]);
      state = await opened.reopen();
      expect(await pendingTexts()).toEqual(["text of a"]);
      expect(await texts("hook:x")).toEqual(["prompt of r1", "reply"]);
      expect(await state.read("route", MAIN)).toEqual({ channel: "console", to: "ada" });
    });

    it("stores events once and in order, and consumes them with their turn", async () => {
      await commit(enqueue("a"), enqueue("a"), enqueue("b"));
      expect(await pendingTexts()).toEqual(["text of a", "text of b"]);
      const [a] = await state.read("turnEvents", MAIN, { limit: 1, maxChars: 1 });
      const outgoing = { channel: "console", to: "owner", text: "x", idempotencyKey: "k" };
      await commit(turn([a!.id, 99_999], 2, { outgoing }));
      expect(await pendingTexts()).toEqual(["text of b"]);
      expect(await state.read("unsent", 9, [])).toEqual([outgoing]);
      expect(await state.read("unsent", 9, ["webhook", outgoing.channel])).toEqual([]);
      expect(await state.read("conversation", MAIN, FITS)).toEqual([
        { role: "user", text: "asked at 2" },
        { role: "assistant", text: "answered at 2" },
      ]);
      expect((await state.read("list", ALL)).sessions).toMatchObject([{ pendingEvents: 1, messages: 2 }]);
    });

    it("knows a consumed event again", async () => {
      await commit(enqueue("a"));
      const [{ id } = { id: 0 }] = await state.read("turnEvents", MAIN, FITS);
      await commit(turn([id], 2));
      expect(await commit(enqueue("a"))).toBe("duplicate");
      expect(await pendingTexts()).toEqual([]);
    });

    it("refuses the event that is one too many, and knows its copies all the same", async () => {
      await commit(enqueue("k0"));
      await opened.sql(`UPDATE embedded_session SET pending = ${SESSION_LIMITS.maxPendingEvents}`);
      expect(await commit(enqueue("more"))).toBe("full");
      expect(await commit(enqueue("k0"))).toBe("duplicate");
      await opened.sql(`UPDATE embedded_session SET pending = 1, pending_bytes = ${SESSION_LIMITS.maxPendingBytes}`);
      expect(await commit(enqueue("more"))).toBe("full");
    });

    it("forgets the keys of consumed events by and by", async () => {
      await commit(...numbers(300).map((number) => enqueue(`k${number}`)));
      const ids = (await state.read("pendingEvents", MAIN, ALL)).events.map(({ id }) => id);
      await commit(turn(ids, 2));
      expect(await rows("event")).toBe(300);
      const later = SESSION_LIMITS.keyTtlMs + 2;
      await commit(turn([], later));
      expect(await rows("event")).toBe(100);
      await commit(turn([], later + 1), turn([], later + 2));
      expect(await rows("event")).toBe(100);
    });

    it("gives a turn the events that fit, at least one, and those of the owner apart, chat by chat", async () => {
      const long = (key: string, owner?: { channel: string; to: string }): Write => [
        "enqueue",
        { sessionKey: MAIN, key, text: key.repeat(100), owner, at: 1 },
      ];
      const [ada, ben] = [
        { channel: "chat", to: "ada" },
        { channel: "chat", to: "ben" },
      ];
      await commit(long("a"), long("b"), long("c"), long("d", ada), long("e", ada), long("f", ben), long("g", ada));
      const given = async (maxChars: number) =>
        (await state.read("turnEvents", MAIN, { limit: 100, maxChars })).map(({ text }) => text[0]);
      expect(await given(1)).toEqual(["a"]);
      expect(await given(250)).toEqual(["a", "b"]);
      expect(await given(1_000)).toEqual(["a", "b", "c"]);
      const ofOwner = await state.read("ownerMessages", MAIN, FITS);
      expect([ofOwner?.from, ofOwner?.messages.map(({ text }) => text[0])]).toEqual([ada, ["d", "e"]]);
      expect(await state.read("route", MAIN)).toEqual(ada);
    });

    it("remembers who asked for a turn until no event waits", async () => {
      await commit(enqueue("a"), ["requestTurn", { sessionKey: MAIN, agentId: "main", reason: "hook:wake", at: 1 }]);
      const requested = { sessionKey: MAIN, agentId: "main", reason: "hook:wake", pending: 1 };
      expect(await state.read("requestedTurns")).toEqual([requested]);
      const [{ id } = { id: 0 }] = await state.read("turnEvents", MAIN, FITS);
      await commit(turn([id], 2));
      expect(await state.read("requestedTurns")).toEqual([]);
    });

    it("begins a run once and ends it, and shows later turns what was answered", async () => {
      const [begin, end] = run("r1", 1);
      expect(await commit(begin)).toBe("begun");
      expect(await commit(begin)).toBe("repeated");
      await commit(end, run("r2", 2)[0], [
        "endRun",
        { sessionKey: "hook:x", runId: "r2", role: "error", text: "no", at: 3 },
      ]);
      expect(await texts("hook:x")).toEqual(["prompt of r1", "reply", "prompt of r2", "no"]);
      expect(await state.read("runTurns", "hook:x", FITS)).toEqual([
        { role: "user", text: "prompt of r1" },
        { role: "assistant", text: "reply" },
      ]);
      expect(await state.read("runTurns", "hook:x", { limit: 9, maxChars: 10 })).toEqual([]);
    });

    it("keeps what a session's texts leave of the agent's rights, each once", async () => {
      const rights = (permissions: string) => JSON.stringify({ permissions, egress: [] });
      const begin = (runId: string, left: string): Write => [
        "beginRun",
        { sessionKey: "hook:x", runId, prompt: "p", rights: left, at: 1 },
      ];
      await commit(begin("r1", rights("ask")), begin("r2", rights("ask")), begin("r3", rights("deny")));
      expect((await state.read("rights", "hook:x")).map(({ permissions }) => permissions)).toEqual(["ask", "deny"]);
      await commit(...numbers(40).map((number) => begin(`m${number}`, rights(`p${number}`))));
      expect((await state.read("rights", "hook:x")).length).toBeLessThanOrEqual(32);
      expect(await state.read("rights", "unknown")).toEqual([]);
    });

    it("remembers what an agent calls the session", async () => {
      expect(await state.read("agentSession", "hook:x")).toBeUndefined();
      await commit(["setAgentSession", { sessionKey: "hook:x", id: "its own", at: 1 }]);
      expect(await state.read("agentSession", "hook:x")).toBe("its own");
    });

    it("keeps the latest messages of a session, fewer where there are only runs", async () => {
      await commit(...numbers(210).map((number) => run(`r${number}`, number)[0]));
      expect(await rows("message")).toBe(200);
      await commit(enqueue("makes it a session of its own", 1, "hook:x"));
      await commit(...numbers(5).map((number) => run(`m${number}`, number)[0]));
      expect(await rows("message")).toBe(205);
    });

    it("prunes the sessions of runs that were idle longest, with their messages", async () => {
      const many = STATE_LIMITS.maxRunSessions + 20;
      const series = `WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${many})`;
      await opened.sql(
        `${series} INSERT INTO embedded_session (id, key, kept, created_at, active_at, messages)
         SELECT 1000 + n, 'old:' || n, 0, n, n, 1 FROM s`,
      );
      await opened.sql(
        `${series} INSERT INTO embedded_message (id, session, run_id, isolated, role, at, text)
         SELECT 1000 + n, 1000 + n, 'old' || n, 1, 'user', n, 'p' FROM s`,
      );
      state = await opened.reopen();
      await commit(enqueue("kept", 0), run("new", 1_000_000)[0]);
      expect(await texts("old:1")).toEqual([]);
      expect(await texts(`old:${many}`)).toEqual(["p"]);
      expect(await rows("session")).toBeLessThanOrEqual(STATE_LIMITS.maxRunSessions + 2);
      expect(await rows("message")).toBe((await rows("session")) - 1);
    });

    it("removes the transcripts of runs that are older, with the sessions that become empty", async () => {
      await commit(...run("r1", 10, "hook:a"), turn([], 11), ...run("r4", 12, MAIN));
      await commit(...run("r2", 20, "hook:b"), ...run("r3", 30, "hook:b"));
      await forget(30);
      expect(await sessions()).toEqual({ "hook:b": 2, [MAIN]: 2 });
      expect(await texts("hook:b")).toEqual(["prompt of r3", "reply"]);
      expect(await texts(MAIN)).toEqual(["asked at 11", "answered at 11"]);
    });

    it("removes the oldest while all count for more bytes than the bound, in bytes of UTF-8", async () => {
      const text = "ü".repeat(292);
      for (const number of numbers(4)) await commit(...run(`r${number}`, number, `hook:${number}`, text));
      await forget(0, 4_000);
      expect(Object.keys(await sessions())).toHaveLength(4);
      await forget(0, 2_100);
      expect(Object.keys(await sessions()).toSorted()).toEqual(["hook:2", "hook:3"]);
      const [counted] = await opened.sql("SELECT bytes FROM embedded_transcript_bytes");
      const [summed] = await opened.sql("SELECT sum(octet_length(text) + 200) AS bytes FROM embedded_message");
      expect(Number(counted!["bytes"])).toBe(Number(summed!["bytes"]));
    });

    it("does not remove the prompt of a run that is in progress", async () => {
      await commit(run("active", 10)[0], ...run("ended", 11));
      await forget(0, 0);
      expect(await texts("hook:x")).toEqual(["prompt of active"]);
    });

    it("moves a pending message to its end state, never back, and shows the newest first", async () => {
      const message = (idempotencyKey: string) => ({ channel: "console", to: "owner", text: "x", idempotencyKey });
      for (const end of ["pending", "sent", "failed", "pending"] as const) {
        await commit(["recordMessage", { message: message("k"), state: end, at: 1 }]);
      }
      await commit(["recordMessage", { message: message("l"), state: "pending", at: 2 }]);
      const { messages, nextCursor } = await state.read("outbox", { limit: 1 });
      expect(messages).toMatchObject([{ state: "pending", to: "owner" }]);
      const next = await state.read("outbox", { limit: 1, cursor: nextCursor! });
      expect(next.messages).toMatchObject([{ state: "sent" }]);
      expect([await state.read("wasSent", "console", "k"), await state.read("wasSent", "console", "l")]).toEqual([
        true,
        false,
      ]);
    });

    it("pages sessions by their latest activity, and messages in order", async () => {
      for (const number of numbers(3)) await commit(...run(`r${number}`, number, `hook:${number}`));
      const first = await state.read("list", { limit: 2 });
      expect(first.sessions.map(({ key }) => key)).toEqual(["hook:2", "hook:1"]);
      const second = await state.read("list", { limit: 2, cursor: first.nextCursor! });
      expect([second.sessions.map(({ key }) => key), second.nextCursor]).toEqual([["hook:0"], null]);
      const page = await state.read("messages", "hook:0", { limit: 1 });
      const rest = await state.read("messages", "hook:0", { limit: 1, cursor: page.nextCursor! });
      expect([page.messages[0]!.text, rest.messages[0]!.text, rest.nextCursor]).toEqual([
        "prompt of r0",
        "reply",
        null,
      ]);
    });

    it("pages the messages of one session from the newest on, and misses none while others are added", async () => {
      for (const number of numbers(3)) await commit(...run(`r${number}`, number));
      await commit(...run("other", 4, "hook:y"));
      const read = (cursor?: string) => state.read("messages", "hook:x", { limit: 3, order: "newest", cursor });
      const said = ({ messages }: Awaited<ReturnType<typeof read>>) =>
        messages.map(({ runId, role }) => `${role} ${runId}`);
      const first = await read();
      expect(said(first)).toEqual(["assistant r2", "user r2", "assistant r1"]);
      await commit(...run("r3", 5));
      const second = await read(first.nextCursor!);
      expect([said(second), second.nextCursor]).toEqual([["user r1", "assistant r0", "user r0"], null]);
      expect(said(await read())).toEqual(["assistant r3", "user r3", "assistant r2"]);
    });

    it("refuses a cursor that no page gave out as a wrong question, not as a failure of the database", async () => {
      const page = { limit: 1, cursor: "nonsense" };
      for (const read of [
        () => state.read("list", page),
        () => state.read("messages", MAIN, page),
        () => state.read("messages", MAIN, { ...page, order: "newest" }),
        () => state.read("pendingEvents", MAIN, page),
        () => state.read("outbox", page),
      ]) {
        await expect(read()).rejects.toMatchObject({ code: "INVALID" });
      }
    });

    it("keeps how far each subscription has come, the latest of each, until it is removed", async () => {
      await commit(
        ["saveSubscription", { name: "b", record: "first" }],
        ["saveSubscription", { name: "a", record: "other" }],
        ["saveSubscription", { name: "b", record: "second" }],
      );
      expect(await state.read("subscriptions", 10)).toEqual(["other", "second"]);
      expect(await state.read("subscriptions", 1)).toEqual(["other"]);
      await commit(["removeSubscription", "a"], ["removeSubscription", "nowhere"]);
      expect(await (await opened.reopen()).read("subscriptions", 10)).toEqual(["second"]);
    });

    it("keeps a question to the owner, its one answer, and its end", async () => {
      const asked = (id: string, at: number): Write => [
        "addApproval",
        {
          id,
          question: `q${id}`,
          agent: "main",
          session: MAIN,
          run: null,
          title: "t",
          input: "",
          asked_at: at,
          state: "waiting",
        },
      ];
      await commit(asked("a", 1), asked("b", 20));
      expect((await state.read("waitingApprovals", 9)).map(({ id }) => id)).toEqual(["b", "a"]);
      expect(await commit(["setApproval", { id: "b", from: "waiting", to: "approved" }])).toBe(true);
      expect(await commit(["setApproval", { id: "b", from: "waiting", to: "denied" }])).toBe(false);
      expect(await state.read("approvalOf", "qb")).toMatchObject({ id: "b", state: "approved", run: null });
      await commit(["expireApprovals", { before: 10 }]);
      expect(await state.read("approval", "a")).toMatchObject({ state: "expired", asked_at: 1 });
      expect(await state.read("approvalOf", "qa")).toBeUndefined();
    });

    it("refuses a write that has no value, and not its neighbors", async () => {
      const broken = turn([1], 2, { outgoing: { channel: "console", idempotencyKey: "k", text: "x" } });
      const outcomes = await Promise.allSettled([commit(enqueue("a")), commit(broken), commit(enqueue("b"))]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await pendingTexts()).toEqual(["text of a", "text of b"]);
      expect(await rows("message")).toBe(0);
      await state.tryWrite();
    });
  });
}
