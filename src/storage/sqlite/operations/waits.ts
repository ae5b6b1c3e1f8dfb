import type { DatabaseSync } from "node:sqlite";
import type { WaitAddition, WaitChange } from "../../wait-store.ts";
import { rowQuery } from "../engine/row-query.ts";
import type { WaitWrites } from "./accept-row.ts";

const INSERT = "INSERT INTO waits (id, session, version, content) VALUES (?, ?, ?, ?)";

/** What is done to waits inside the transaction of a delivery. */
export interface WaitChanges {
  /** True when each of the waits is as it was. */
  areCurrent(changes: readonly WaitChange[]): boolean;
  carryOut(writes: WaitWrites): void;
}

export function waitChanges(database: DatabaseSync): WaitChanges {
  const readVersion = rowQuery(database, { version: "integer" }, "SELECT version FROM waits WHERE id = ?");
  const update = database.prepare("UPDATE waits SET version = version + 1, content = ? WHERE id = ?");
  const remove = database.prepare("DELETE FROM waits WHERE id = ?");
  const insert = database.prepare(INSERT);
  return {
    areCurrent: (changes) => changes.every(({ id, version }) => readVersion.get(id)?.version === version),
    carryOut({ changes, added }) {
      for (const { id, content } of changes) {
        if (content === null) remove.run(id);
        else update.run(content, id);
      }
      for (const { id, session, version, content } of added) insert.run(id, session, version, content);
    },
  };
}

/** Prepares what is written of waits by itself. */
export function waitOperations(database: DatabaseSync) {
  const countAll = rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM waits");
  const countOfSession = rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM waits WHERE session = ?");
  const insert = database.prepare(INSERT);
  const remove = database.prepare("DELETE FROM waits WHERE id = ?");
  return {
    addWait([id, session, version, content, total, ofSession]: [
      string,
      string,
      number,
      string,
      number,
      number,
    ]): WaitAddition {
      if (Number(countAll.get()?.n) >= total) return "full";
      if (Number(countOfSession.get(session)?.n) >= ofSession) return "session-full";
      insert.run(id, session, version, content);
      return "added";
    },
    /** True when there was one. */
    removeWait: ([id]: [string]): boolean => remove.run(id).changes !== 0,
  };
}
