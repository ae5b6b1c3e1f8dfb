import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { Outbox } from "../../../../../src/hosts/embedded/channels/outbox.ts";
import { EmbeddedSessions } from "../../../../../src/hosts/embedded/sessions.ts";
import {
  sqliteModule,
  STATE_MIGRATIONS,
  STATE_MODULE_URL,
} from "../../../../../src/hosts/embedded/state/sqlite-module.ts";
import { SqliteState } from "../../../../../src/hosts/embedded/state/sqlite-state.ts";
import { SqliteDatabase } from "../../../../../src/storage/sqlite/engine/database.ts";
import { Writer } from "../../../../../src/storage/sqlite/engine/writer.ts";
import { temporaryFolder } from "../../../storage/sqlite/engine/temporary-folder.ts";
import { gatewayConfig } from "./temporary-gateway.ts";

const MAIN = "agent:main:main";
/** Each is a file that this version of the gateway has written. */
const STORED = readdirSync(import.meta.dirname)
  .flatMap((name) => /^state-(\d+)\.sql$/u.exec(name)?.slice(1) ?? [])
  .toSorted();

function oldFile(version: string): string {
  const file = join(temporaryFolder(), "old.sqlite");
  const database = new DatabaseSync(file);
  database.exec(readFileSync(new URL(`./state-${version}.sql`, import.meta.url), "utf8"));
  database.close();
  return file;
}

function schemaOf(file: string): unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
  database.close();
  return rows.map(({ name, sql }) => [name, typeof sql === "string" ? sql.replaceAll(/\s+/gu, "") : null]);
}

it("is stored by every earlier version", () => {
  const versions = Object.keys(STATE_MIGRATIONS).map((name) => name.slice(0, 4));
  expect(STORED).toEqual(expect.arrayContaining(versions.slice(0, -1)));
});

it.each(STORED)("of version %s is opened with all that is in it, and goes on", async (version) => {
  const database = await SqliteDatabase.open({ file: oldFile(version), modules: [STATE_MODULE_URL] });
  onTestFinished(() => database.close());
  const clock = { now: () => 1_767_323_050_000 };
  const state = new SqliteState(database);
  const sessions = new EmbeddedSessions({ state, clock, config: () => gatewayConfig() });
  const outbox = new Outbox({ state, clock });

  expect(await sessions.lastRoute("main")).toEqual({ channel: "webhook", to: "#ops" });
  expect(await sessions.requestedTurns()).toMatchObject([{ sessionKey: MAIN, reason: "hook:build" }]);
  const limits = { limit: 10, maxChars: 1_000 };
  expect((await sessions.conversation(MAIN, limits)).map(({ text }) => text)).toEqual(["What is new?", "Nothing."]);
  expect((await sessions.runTurns("hook:build", limits)).map(({ text }) => text)).toEqual([
    "The build failed.",
    "I read it.",
  ]);
  expect((await outbox.pending(10, [])).map(({ text }) => text)).toEqual(["Nothing."]);

  // The key of a consumed event is known, and a run that has begun does not begin again.
  await sessions.enqueueSystemEvent({ sessionKey: MAIN, text: "Once more.", idempotencyKey: "run_1" });
  expect(await sessions.beginRun({ sessionKey: "hook:build", runId: "run_1", prompt: "again" })).toBe(false);
  const [waiting, ...others] = await sessions.turnEvents(MAIN, limits);
  expect([waiting?.text, others]).toEqual(["It waits.", []]);
  const turn = { sessionKey: MAIN, turnId: "turn_2", user: "u", assistant: "a", eventIds: [waiting!.id] };
  await sessions.appendTurn(turn);
  expect(await sessions.turnEvents(MAIN, limits)).toEqual([]);
  expect(await sessions.requestedTurns()).toEqual([]);
});

it.each(STORED)("has the same tables whether it is new or comes from version %s", async (version) => {
  const old = oldFile(version);
  const fresh = join(temporaryFolder(), "new.sqlite");
  for (const file of [old, fresh]) (await Writer.open(file, [sqliteModule])).close();
  expect(schemaOf(old)).toEqual(schemaOf(fresh));
});
