/** A module of the database for tests: one table and operations that go right, wrong and fatally wrong. */
import { threadId } from "node:worker_threads";
import type { SqliteModule } from "../../../../../src/storage/sqlite/engine/module.ts";

export const sqliteModule: SqliteModule = {
  name: "notes",
  migrations: { "0001-notes": ["CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB)"] },
  operations(database) {
    const insert = database.prepare("INSERT INTO notes (id, text) VALUES (?, ?)");
    const insertBytes = database.prepare("INSERT INTO notes (id, bytes) VALUES (?, ?)");
    const pragma = (name: string) => database.prepare(`PRAGMA ${name}`).get()?.[name];
    return {
      add([id, text]: [number, string]) {
        insert.run(id, text);
      },
      addBytes({ id, bytes }: { id: number; bytes: Uint8Array }) {
        insertBytes.run(id, bytes);
        return bytes.byteLength;
      },
      addThenThrow([id]: [number]) {
        insert.run(id, "must be undone");
        throw new Error("The operation failed half-way.");
      },
      throwText() {
        // oxlint-disable-next-line typescript/only-throw-error -- a module may do that
        throw "only text";
      },
      echo: (args: unknown) => args,
      pragmas: () => ({
        journal: pragma("journal_mode"),
        sync: pragma("synchronous"),
        auto: pragma("wal_autocheckpoint"),
      }),
      /** Ends the thread that calls it, as a crash would. */
      die() {
        process.exit(7);
      },
      unclonable: () => () => undefined,
    };
  },
  reads(database) {
    const count = database.prepare("SELECT count(*) AS n FROM notes");
    return {
      count: () => count.get()?.["n"],
      thread: () => threadId,
      fail: () => database.exec("SELECT * FROM nowhere"),
      die() {
        process.exit(7);
      },
    };
  },
};

export const notesModule = new URL(import.meta.url);
