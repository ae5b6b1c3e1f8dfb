import { describe, expect, it } from "vitest";
import { describeOpenError } from "../../../../../src/storage/sqlite/engine/errors.ts";

const PATH = "/var/lib/reveille/reveille.sqlite";

describe("an error of opening a file", () => {
  it.each([
    ["unable to open database file", 14, /limit of open files \(ulimit -n\)/],
    ["file is not a database", 26, /Restore it from a backup, or move it/],
    ["database disk image is malformed", 11, /sqlite3 <file> \.recover/],
    ["disk I/O error", 10 | (2 << 8), /Check the disk and its free space/],
    ["database or disk is full", 13, /Free some space/],
    ["attempt to write a readonly database", 8, /right to write it/],
  ])("of SQLite names the path, the problem and a way out: %s", (message, errcode, advice) => {
    const error = Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
    expect(describeOpenError(PATH, error)).toMatch(advice);
    expect(describeOpenError(PATH, error)).toContain(`${PATH} cannot be opened: ${message}. `);
    const migration = new Error(`The tables of store could not be brought up to date: ${message}`, { cause: error });
    expect(describeOpenError(PATH, migration)).toMatch(advice);
  });

  it.each([
    ["EROFS", /read-only\. Choose another state directory/],
    ["EACCES", /right to write/],
    ["EEXIST", /A file has the name of the folder/],
    ["ENOTDIR", /A part of the path is a file/],
    ["EMFILE", /ulimit -n/],
    ["ENOSPC", /Free some space/],
  ])("of the operating system names the path, the problem and a way out: %s", (code, advice) => {
    const error = Object.assign(new Error(`${code}: it failed, open`), { code });
    expect(describeOpenError(PATH, error)).toMatch(advice);
    expect(describeOpenError(PATH, error)).toContain(`${PATH} cannot be opened: ${code}: it failed`);
  });

  it("of another kind is given as it is", () => {
    expect(describeOpenError(PATH, new Error("no such operation"))).toBe("no such operation");
    expect(describeOpenError(PATH, "thrown")).toBe("thrown");
  });
});
