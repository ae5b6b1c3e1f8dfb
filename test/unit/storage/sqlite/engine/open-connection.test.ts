import { chmodSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  makePrivate,
  openReadConnection,
  openWriteConnection,
} from "../../../../../src/storage/sqlite/engine/open-connection.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const modeOf = (file: string) => statSync(file).mode & 0o777;

describe("connections", () => {
  it("keeps the file, its log and its index to their owner", () => {
    const file = join(temporaryFolder(), "a.sqlite");
    makePrivate(file);
    const database = openWriteConnection(file);
    database.exec("CREATE TABLE t (a)");
    expect([file, `${file}-wal`, `${file}-shm`].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
    database.close();
  });

  it("takes back rights that others have on a file that exists", () => {
    const file = join(temporaryFolder(), "a.sqlite");
    writeFileSync(file, "");
    writeFileSync(`${file}-wal`, "");
    for (const path of [file, `${file}-wal`]) chmodSync(path, 0o644);
    makePrivate(file);
    expect([file, `${file}-wal`].map(modeOf)).toEqual([0o600, 0o600]);
  });

  it("refuses a file that is no database", () => {
    const file = join(temporaryFolder(), "a.sqlite");
    writeFileSync(
      file,
      "This is a text that is longer than the header of a database, and it is not one of them at all.",
    );
    expect(() => openWriteConnection(file)).toThrow(/not a database/u);
  });

  it("refuses a file that can have no log", () => {
    expect(() => openWriteConnection(":memory:")).toThrow(
      "SQLite did not take journal_mode = wal for this file; it stays at memory.",
    );
  });

  it("reads and cannot write through the connection for reading", () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const writer = openWriteConnection(file);
    writer.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    const reader = openReadConnection(file);
    expect(reader.prepare("SELECT a FROM t").get()).toEqual({ a: 1 });
    expect(() => reader.exec("INSERT INTO t VALUES (2)")).toThrow(/readonly/u);
    reader.close();
    writer.close();
  });
});
