import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { Writer } from "../../../../../src/storage/sqlite/engine/writer.ts";
import { openWriteConnection } from "../../../../../src/storage/sqlite/engine/open-connection.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const INCREMENTAL = 2;

/** A file that records nothing of its pages, with so many bytes in it. */
function fileWith(bytes: number): string {
  const file = join(temporaryFolder(), "notes.sqlite");
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE note (bytes BLOB)");
  database.prepare("INSERT INTO note VALUES (zeroblob(?))").run(bytes);
  database.close();
  return file;
}

async function openAgain(file: string, options: { compact?: boolean } = {}): Promise<unknown> {
  (await Writer.open(file, [], options)).close();
  const database = new DatabaseSync(file);
  const [mode, notes] = ["PRAGMA auto_vacuum", "SELECT count(*), octet_length(bytes) FROM note"].map((text) =>
    Object.values(database.prepare(text).get()!),
  );
  database.close();
  return { mode: mode![0], notes };
}

describe("the file of a database", () => {
  it("can shrink in steps from the start when it is new", () => {
    const database = openWriteConnection(join(temporaryFolder(), "a.sqlite"));
    database.exec("CREATE TABLE t (a)");
    expect(database.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: INCREMENTAL });
    database.close();
  });

  it("is rewritten at a start when it cannot, and keeps what is in it", async () => {
    expect(await openAgain(fileWith(1000))).toEqual({ mode: INCREMENTAL, notes: [1, 1000] });
  });

  it("is not rewritten when it is large, unless that is asked for", async () => {
    const file = fileWith(70_000_000);
    expect(await openAgain(file)).toEqual({ mode: 0, notes: [1, 70_000_000] });
    expect(await openAgain(file, { compact: true })).toEqual({ mode: INCREMENTAL, notes: [1, 70_000_000] });
  });
});
