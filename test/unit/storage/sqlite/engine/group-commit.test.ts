import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { following, GroupCommit, NOT_CARRIED_OUT } from "../../../../../src/storage/sqlite/engine/group-commit.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("GroupCommit", () => {
  let file: string;
  let database: DatabaseSync;
  let commits: GroupCommit;

  beforeEach(() => {
    file = join(temporaryFolder(), "group.sqlite");
    database = new DatabaseSync(file);
    onTestFinished(() => database.close());
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE parents (id INTEGER PRIMARY KEY)");
    database.exec(
      "CREATE TABLE notes (id INTEGER PRIMARY KEY, text, parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)",
    );
    const insert = database.prepare("INSERT INTO notes (id, text, parent) VALUES (?, ?, ?)");
    commits = new GroupCommit(
      database,
      new Map<string, (args: unknown) => unknown>([
        ["add", (args) => void insert.run(...(args as [number, string, number | null]))],
        ["echo", (args) => args],
        [
          "addThenThrow",
          (args) => {
            insert.run(args as number, "half", null);
            throw new Error("half-way");
          },
        ],
        [
          "addThenBusy",
          (args) => {
            insert.run(args as number, "half", null);
            throw Object.assign(new Error("database is locked"), { errcode: 5 });
          },
        ],
        [
          "throwText",
          () => {
            // oxlint-disable-next-line typescript/only-throw-error -- a module may do that
            throw "only text";
          },
        ],
      ]),
    );
  });

  const add = (...ids: number[]) => ({
    operations: ids.map(() => "add"),
    args: ids.map((id) => [id, `note ${id}`, null]),
  });
  const stored = () =>
    database
      .prepare("SELECT id FROM notes ORDER BY id")
      .all()
      .map((row) => row["id"]);

  it("commits a batch in one transaction that another connection sees at once", () => {
    const other = new DatabaseSync(file, { readOnly: true });
    onTestFinished(() => other.close());
    expect(commits.commit(add(1, 2, 3))).toEqual({ results: null, failures: [] });
    expect(other.prepare("SELECT count(*) AS n FROM notes").get()).toEqual({ n: 3 });
    expect(database.isTransaction).toBe(false);
  });

  it("gives each write its own result", () => {
    const outcome = commits.commit({ operations: ["echo", "add", "echo"], args: ["a", [1, "x", null], { b: 2 }] });
    expect(outcome).toEqual({ results: ["a", undefined, { b: 2 }], failures: [] });
  });

  it("does nothing for an empty batch", () => {
    expect(commits.commit(add())).toEqual({ results: null, failures: [] });
  });

  describe("a write that follows another one", () => {
    const follow = (first: string, args: unknown) =>
      commits.commit({
        operations: [first, following("add"), following("add")],
        args: [args, [2, "x", null], [3, "y", null]],
      });

    it("is carried out in the same commit when that one returned nothing", () => {
      expect(follow("add", [1, "first", null])).toEqual({ results: null, failures: [] });
      expect(stored()).toEqual([1, 2, 3]);
    });

    it("is not carried out when that one returned something, and neither is what follows it", () => {
      expect(follow("echo", "taken").results).toEqual(["taken", NOT_CARRIED_OUT, NOT_CARRIED_OUT]);
      expect(stored()).toEqual([]);
    });

    it("is not carried out when that one failed, also though the batch is run again", () => {
      const outcome = follow("addThenThrow", 1);
      expect(outcome.failures).toMatchObject([{ index: 0 }]);
      expect(outcome.results?.slice(1)).toEqual([NOT_CARRIED_OUT, NOT_CARRIED_OUT]);
      expect(stored()).toEqual([]);
    });

    it("is not carried out in another commit than that one", () => {
      const second = {
        operations: [following("add"), "add"],
        args: [
          [2, "x", null],
          [4, "z", null],
        ],
      };
      expect([commits.commit(add(1)), commits.commit(second)].at(-1)?.results).toEqual([NOT_CARRIED_OUT, undefined]);
      expect(stored()).toEqual([1, 4]);
    });

    it("leaves what it follows as it is when it fails itself", () => {
      const outcome = commits.commit({
        operations: ["add", following("addThenThrow"), following("add")],
        args: [[1, "x", null], 2, [3, "y", null]],
      });
      expect(outcome.failures).toMatchObject([{ index: 1, message: "half-way" }]);
      expect(stored()).toEqual([1]);
    });
  });

  it("undoes a write that throws half-way, alone, and commits the others", () => {
    const batch = {
      operations: ["add", "addThenThrow", "echo", "add", "throwText", "nobody"],
      args: [[1, "x", null], 2, "kept", [3, "y", null], 0, 0],
    };
    const outcome = commits.commit(batch);
    expect(outcome.failures).toEqual([
      { index: 1, code: "FAILED", message: "half-way" },
      { index: 4, code: "FAILED", message: "only text" },
      { index: 5, code: "FAILED", message: "No module of this database has the operation nobody." },
    ]);
    expect(outcome.results?.[2]).toBe("kept");
    expect(stored()).toEqual([1, 3]);
  });

  it("refuses only the second of two writes that exclude each other", () => {
    const outcome = commits.commit(add(1, 2, 1));
    expect(outcome.failures).toMatchObject([{ index: 2, code: "FAILED" }]);
    expect(stored()).toEqual([1, 2]);
  });

  it("refuses the whole batch when there is no space, and commits again when there is", () => {
    commits.commit(add(1));
    const pages = Number(database.prepare("PRAGMA page_count").get()?.["page_count"]);
    database.exec(`PRAGMA max_page_count = ${pages}`);
    const large = {
      operations: ["add", "add"],
      args: [
        [2, "small", null],
        [3, "x".repeat(100_000), null],
      ],
    };
    const outcome = commits.commit(large);
    expect(outcome.failures.map(({ index, code }) => [index, code])).toEqual([
      [0, "UNAVAILABLE"],
      [1, "UNAVAILABLE"],
    ]);
    expect(stored()).toEqual([1]);
    expect(database.isTransaction).toBe(false);

    database.exec("PRAGMA max_page_count = 1000000");
    expect(commits.commit(large).failures).toEqual([]);
    expect(stored()).toEqual([1, 2, 3]);
  });

  it("leaves no transaction open when an error that SQLite does not roll back refuses the batch", () => {
    const busy = { operations: ["add", "addThenBusy"], args: [[1, "x", null], 2] };
    expect(commits.commit(busy).failures.map(({ code }) => code)).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
    expect(database.isTransaction).toBe(false);
    expect(commits.commit(add(3)).failures).toEqual([]);
    expect(stored()).toEqual([3]);
  });

  it("refuses the whole batch when space ends among writes of which another has failed", () => {
    const pages = Number(database.prepare("PRAGMA page_count").get()?.["page_count"]);
    database.exec(`PRAGMA max_page_count = ${pages}`);
    const outcome = commits.commit({
      operations: ["addThenThrow", "add"],
      args: [1, [2, "x".repeat(100_000), null]],
    });
    expect(outcome.failures.map((failure) => failure.code)).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
    expect(stored()).toEqual([]);
  });

  it("refuses the batch with UNAVAILABLE while another connection holds the file, and then continues", () => {
    const other = new DatabaseSync(file);
    onTestFinished(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    expect(commits.commit(add(1, 2)).failures.map((failure) => failure.code)).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
    other.exec("ROLLBACK");
    expect(commits.commit(add(1, 2)).failures).toEqual([]);
    expect(stored()).toEqual([1, 2]);
  });

  it("refuses the batch with UNAVAILABLE when the file cannot be written", () => {
    database.exec("PRAGMA query_only = ON");
    expect(commits.commit(add(1)).failures).toMatchObject([{ code: "UNAVAILABLE" }]);
    database.exec("PRAGMA query_only = OFF");
    expect(commits.commit(add(1)).failures).toEqual([]);
  });

  it("refuses the batch when only the commit itself finds out that it is wrong", () => {
    const orphan = {
      operations: ["add", "add"],
      args: [
        [1, "x", null],
        [2, "orphan", 99],
      ],
    };
    expect(commits.commit(orphan).failures.map((failure) => failure.code)).toEqual(["FAILED", "FAILED"]);
    expect(stored()).toEqual([]);
    expect(database.isTransaction).toBe(false);
    expect(commits.commit(add(1)).failures).toEqual([]);
  });
});
