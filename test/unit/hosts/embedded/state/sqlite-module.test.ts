/** The module in this process, without the thread that runs it in the gateway. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sessionReads } from "../../../../../src/hosts/embedded/state/session-reads.ts";
import { sqliteTasks } from "../../../../../src/hosts/embedded/state/sqlite-tasks.ts";
import { sqliteModule, STATE_MODULE_URL } from "../../../../../src/hosts/embedded/state/sqlite-module.ts";
import { STATE_LIMITS } from "../../../../../src/hosts/embedded/state/operations.ts";
import { openReadConnection } from "../../../../../src/storage/sqlite/engine/open-connection.ts";
import { Writer } from "../../../../../src/storage/sqlite/engine/writer.ts";

const MAIN = "agent:main:main";

let folder: string;
let writer: Writer;
let reader: ReturnType<typeof openReadConnection>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "state-module-"));
  const file = join(folder, "state.sqlite");
  writer = await Writer.open(file, [sqliteModule]);
  reader = openReadConnection(file);
});

afterEach(() => {
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Carries out operations in one commit and gives their outcomes. */
function commit(...writes: readonly (readonly [operation: string, args: object])[]) {
  return writer.commit({
    operations: writes.map(([operation]) => `embedded.${operation}`),
    args: writes.map(([, args]) => args),
  });
}

function enqueue(key: string, at = 1, sessionKey = MAIN) {
  return ["enqueue", { sessionKey, key, text: `text of ${key}`, at }] as const;
}

function turn(eventIds: readonly number[], at: number, extra: object = {}) {
  return [
    "appendTurn",
    { sessionKey: MAIN, turnId: `t${at}`, user: "u", assistant: "a", eventIds, at, ...extra },
  ] as const;
}

function pendingTexts(): string[] {
  return sqliteTasks(reader)(sessionReads.pendingEvents(MAIN, { limit: 200 })).events.map(({ text }) => text);
}

function rows(table: string): number {
  return (reader.prepare(`SELECT count(*) AS n FROM embedded_${table}`).get() as { n: number }).n;
}

describe("the state module", () => {
  it("knows where it is", async () => {
    expect(((await import(STATE_MODULE_URL.href)) as { sqliteModule: unknown }).sqliteModule).toBe(sqliteModule);
  });

  it("opens a file again that it made before", async () => {
    commit(enqueue("a"));
    writer.close();
    writer = await Writer.open(join(folder, "state.sqlite"), [sqliteModule]);
    expect(pendingTexts()).toEqual(["text of a"]);
  });

  it("opens a file from before transcripts were counted, and counts what is in it", async () => {
    const file = join(folder, "old.sqlite");
    const { "0001-tables": first } = sqliteModule.migrations;
    const old = await Writer.open(file, [
      { ...sqliteModule, migrations: { "0001-tables": first! }, operations: () => ({}) },
    ]);
    old.close();
    const direct = new DatabaseSync(file);
    direct.exec(`INSERT INTO embedded_session (id, key, kept, created_at, active_at, messages) VALUES (1, 'hook:x', 0, 1, 1, 2);
      INSERT INTO embedded_message VALUES (1, 1, 'r', 1, 'user', 1, 'prompt'), (2, 1, 'r', 1, 'assistant', 1, 'reply')`);
    const reopened = await Writer.open(file, [sqliteModule]);
    const step = { after: 0, before: 0, maxBytes: 250, endedBefore: 0, now: 9 };
    reopened.commit({ operations: ["embedded.forgetRuns"], args: [step] });
    expect(direct.prepare("SELECT text FROM embedded_message").all()).toEqual([{ text: "reply" }]);
    expect(direct.prepare("SELECT bytes FROM embedded_transcript_bytes").all()).toEqual([{ bytes: 205 }]);
    direct.close();
    reopened.close();
  });

  it("undoes an operation that throws, and not its neighbors", () => {
    const broken = turn([1], 2, { outgoing: { channel: "console", idempotencyKey: "k", text: "x" } });
    commit(enqueue("a"), broken, enqueue("b"));
    expect(pendingTexts()).toEqual(["text of a", "text of b"]);
    expect(rows("message")).toBe(0);
  });

  it("prunes the sessions of runs that were idle longest, with their messages", () => {
    const begin = (n: number) => ["beginRun", { sessionKey: `hook:${n}`, runId: `r${n}`, prompt: "p", at: n }] as const;
    commit(enqueue("kept", 0));
    commit(...Array.from({ length: STATE_LIMITS.maxRunSessions + 40 }, (_, n) => begin(n)));
    expect(rows("session")).toBeLessThanOrEqual(STATE_LIMITS.maxRunSessions + 17);
    expect(rows("message")).toBe(rows("session") - 1);
    expect(sqliteTasks(reader)(sessionReads.messages("hook:0", { limit: 1 })).messages).toEqual([]);
    expect(pendingTexts()).toEqual(["text of kept"]);
  });

  it("keeps the count of bytes right where sessions are pruned, also those with the last messages", () => {
    const begin = (n: number, at: number) =>
      ["beginRun", { sessionKey: `hook:${n}`, runId: `r${n}`, prompt: "p", at }] as const;
    const read = (query: string) => Number(Object.values(reader.prepare(query).get()!)[0]);
    const counted = () => read("SELECT bytes FROM embedded_transcript_bytes");
    const countAll = (): void => {
      const step = { after: 0, before: -1e9, maxBytes: 1e9, endedBefore: -1e9, now: 1e9 };
      for (let n = 0; n < 50; n++) commit(["forgetRuns", step]);
    };
    commit(...Array.from({ length: STATE_LIMITS.maxRunSessions + 10 }, (_, n) => begin(n, n)));
    expect(counted()).toBe(0);
    countAll();
    expect(counted()).toBe(201 * rows("message"));
    for (let n = 0; n < 40; n++) {
      commit(begin(20_000 + n, -n));
      if (n % 5 === 0) countAll();
    }
    countAll();
    expect(counted()).toBe(201 * rows("message"));
  });
});
