import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileLock } from "../../../../../src/storage/sqlite/engine/database.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("FileLock", () => {
  it("is held by one at a time and can be taken again after its release", () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const lock = FileLock.acquire(file);
    expect(() => FileLock.acquire(file)).toThrow(expect.objectContaining({ name: "SqliteError", code: "IN_USE" }));
    expect(() => FileLock.acquire(file)).toThrow(/in use by another process; stop that process or choose another/u);
    lock.release();
    FileLock.acquire(file).release();
  });

  it("leaves one empty private file beside the database", () => {
    const folder = temporaryFolder();
    const lock = FileLock.acquire(join(folder, "a.sqlite"));
    expect(readdirSync(folder)).toEqual(["a.sqlite.lock"]);
    const { mode, size } = statSync(join(folder, "a.sqlite.lock"));
    expect({ mode: mode & 0o777, size }).toEqual({ mode: 0o600, size: 0 });
    lock.release();
  });

  it("says what is wrong when the folder does not exist", () => {
    expect(() => FileLock.acquire(join(temporaryFolder(), "missing", "a.sqlite"))).toThrow(/ENOENT/u);
  });

  it("does not take a lock file that is something else for one that is held", () => {
    const file = join(temporaryFolder(), "a.sqlite");
    writeFileSync(
      `${file}.lock`,
      "This text is longer than the header of a database; it is not one of them by any measure.",
    );
    expect(() => FileLock.acquire(file)).toThrow(/not a database/u);
  });
});
