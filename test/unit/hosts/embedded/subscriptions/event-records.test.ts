import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import type { StateStore } from "../../../../../src/hosts/embedded/state/state-store.ts";
import {
  type EventRecord,
  EventRecords,
} from "../../../../../src/hosts/embedded/subscriptions/events/event-records.ts";
import { temporaryFolder } from "../../../storage/sqlite/engine/temporary-folder.ts";
import { recordingLogger } from "../server/recording-logger.ts";

const record = (name: string, cursor: string | null): EventRecord => ({
  name,
  server: "https://mcp.example.com/mcp",
  event: "incident.created",
  arguments: { severity: "P1" },
  callback: "",
  id: "",
  cursor,
});

let stateDir: string;
let stored: Map<string, string>;
let writes: string[];
let failure: Error | undefined;

beforeEach(() => {
  stateDir = temporaryFolder();
  stored = new Map();
  writes = [];
  failure = undefined;
});

const logger = recordingLogger();
const state = {
  read: () => Promise.resolve([...stored.values()]),
  write: async (name: string, arg: string | { name: string; record: string }) => {
    await Promise.resolve();
    writes.push(name);
    if (failure !== undefined) throw failure;
    if (typeof arg === "string") stored.delete(arg);
    else stored.set(arg.name, arg.record);
  },
} as unknown as Pick<StateStore, "read" | "write">;
const open = async (): Promise<EventRecords> => {
  const records = new EventRecords({ state, stateDir, logger });
  await records.load();
  return records;
};

it("are there for whoever opens them next, in their latest form, without a write for each change", async () => {
  const records = await open();
  for (let at = 0; at < 100; at++) records.save(record("a", `c${at}`));
  records.save(record("b", null));
  records.delete("b");
  expect(records.get("a")?.cursor).toBe("c99");
  await records.settled();
  expect(writes.length).toBeLessThan(5);
  const next = await open();
  expect(next.names).toEqual(["a"]);
  expect(next.get("a")).toEqual(record("a", "c99"));
  next.save(record("a", "c100"));
  await next.settled();
  expect((await open()).get("a")?.cursor).toBe("c100");
});

it("go on after a write that failed, and leave out what is none", async () => {
  const records = await open();
  failure = new Error("the database is away");
  records.save(record("a", "c1"));
  await records.settled();
  expect(records.get("a")?.cursor).toBe("c1");
  failure = undefined;
  records.save(record("a", "c2"));
  await records.settled();
  stored.set("broken", "{");
  stored.set("other", JSON.stringify({ name: "other" }));
  expect((await open()).names).toEqual(["a"]);
});

it("are taken over from the files of an earlier version, unless there is something later", async () => {
  const folder = join(stateDir, "subscriptions", "events");
  mkdirSync(folder, { recursive: true });
  const files = [record("a", "c1"), record("b", "c2"), {}];
  for (const [at, content] of files.entries()) writeFileSync(join(folder, `${at}.json`), JSON.stringify(content));
  symlinkSync("/nonexistent", join(folder, "gone.json"));
  stored.set("a", JSON.stringify(record("a", "c9")));
  const records = await open();
  expect([records.get("a")?.cursor, records.get("b")?.cursor]).toEqual(["c9", "c2"]);
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  expect((await open()).get("b")?.cursor).toBe("c2");
});
