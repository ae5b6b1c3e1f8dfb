/** The module in this process, without the thread that runs it in the gateway. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OPENCLAW_MODULE_URL, sqliteModule } from "../../../../src/hosts/openclaw/sqlite-state-module.ts";
import { SESSION_LIMITS } from "../../../../src/hosts/shared/state-operations.ts";
import { openReadConnection } from "../../../../src/storage/sqlite/engine/open-connection.ts";
import { Writer } from "../../../../src/storage/sqlite/engine/writer.ts";

const SESSION = "agent:main:main";
const LATER = SESSION_LIMITS.keyTtlMs + 10;

let folder: string;
let writer: Writer;
let reader: ReturnType<typeof openReadConnection>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "openclaw-module-"));
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
    operations: writes.map(([operation]) => `openclaw.${operation}`),
    args: writes.map(([, args]) => args),
  });
}

function enqueue(key: string, at = 1, text = `text of ${key}`) {
  return ["enqueue", { sessionKey: SESSION, key, at, text }] as const;
}

function rows(table: string): number {
  return (reader.prepare(`SELECT count(*) AS n FROM openclaw_${table}`).get() as { n: number }).n;
}

function pending(): unknown[] {
  return reader.prepare("SELECT text FROM openclaw_event WHERE text IS NOT NULL ORDER BY id").all();
}

it("is loaded from its own file", () => {
  expect(OPENCLAW_MODULE_URL.href).toMatch(/sqlite-state-module\.ts$/);
});

it("stores an event once, also after it was consumed, until its key is old", () => {
  commit(enqueue("a"), enqueue("a"), enqueue("b"));
  expect(pending()).toHaveLength(2);
  commit(["requestTurn", { sessionKey: SESSION, agentId: "main", reason: "hook:wake" }]);
  commit(["consume", { session: SESSION, ids: [1] }]);
  expect(rows("turn")).toBe(1);
  commit(["consume", { session: SESSION, ids: [2] }], enqueue("a"));
  expect(pending()).toEqual([]);
  expect(rows("turn")).toBe(0);
  commit(enqueue("c", LATER));
  expect(rows("event")).toBe(1);
});

it("refuses more events, and more bytes of them, than a session may hold", () => {
  const many = Array.from({ length: SESSION_LIMITS.maxPendingEvents }, (_, at) => enqueue(String(at), 1, "x"));
  commit(...many);
  const before = rows("event");
  commit(enqueue("one more"));
  expect(before).toBe(SESSION_LIMITS.maxPendingEvents);
  expect(rows("event")).toBe(before);
  commit(["enqueue", { sessionKey: "agent:main:other", key: "other", at: 1, text: "x" }]);
  expect(rows("event")).toBe(before + 1);
  const long = "x".repeat(SESSION_LIMITS.maxPendingBytes);
  commit(["enqueue", { sessionKey: "agent:main:other", key: "long", at: 1, text: long }]);
  expect(rows("event")).toBe(before + 1);
});

it("begins a run once, unless it was undone before its end, and forgets it in the end", () => {
  const begin = ["beginRun", { id: "r", session: "s", at: 1 }] as const;
  commit(begin, ["undoRun", { id: "r" }], begin, begin);
  expect(rows("run")).toBe(1);
  commit(["endRun", { id: "r", at: 2 }], ["undoRun", { id: "r" }]);
  expect(rows("run")).toBe(1);
  commit(["beginRun", { id: "later", session: "s", at: LATER }]);
  expect(reader.prepare("SELECT id FROM openclaw_run").all()).toEqual([{ id: "later" }]);
});

it("remembers how much of a message was sent, for a while", () => {
  const sent = { channel: "telegram", key: "k", at: 1 };
  commit(["recordSent", { ...sent, parts: 1 }], ["recordSent", { ...sent, parts: 2 }]);
  expect(reader.prepare("SELECT parts FROM openclaw_sent").all()).toEqual([{ parts: 2 }]);
  commit(["recordSent", { channel: "slack", key: "k", at: LATER, parts: 1 }]);
  expect(reader.prepare("SELECT channel FROM openclaw_sent").all()).toEqual([{ channel: "slack" }]);
});
