import type { DatabaseSync } from "node:sqlite";
import type { StoredWait, WaitAddition, WaitBounds, WaitChange } from "../../wait-store.ts";
import { rowQuery } from "../engine/row-query.ts";
import type { WaitWrites } from "./accept-row.ts";

/** What is done to waits inside the transaction of a delivery. */
export interface WaitChanges {
  /** True when each of the waits is as it was. */
  areCurrent(changes: readonly WaitChange[]): boolean;
  /** What came of the wait that is to be added; `added` where there is none. */
  carryOut(writes: WaitWrites): WaitAddition;
}

export function waitChanges(database: DatabaseSync): WaitChanges {
  const readVersion = rowQuery(database, { version: "integer" }, "SELECT version FROM waits WHERE id = ?");
  const update = database.prepare("UPDATE waits SET version = version + 1, content = ? WHERE id = ?");
  const remove = database.prepare("DELETE FROM waits WHERE id = ?");
  const add = addition(database);
  return {
    areCurrent: (changes) => changes.every(({ id, version }) => readVersion.get(id)?.version === version),
    carryOut({ changes, added }) {
      for (const { id, content } of changes) {
        if (content === null) remove.run(id);
        else update.run(content, id);
      }
      return added == null ? "added" : add(added.wait, added.bounds);
    },
  };
}

/** Prepares what is written of waits by itself. */
export function waitOperations(database: DatabaseSync) {
  const add = addition(database);
  const remove = database.prepare("DELETE FROM waits WHERE id = ?");
  return {
    addWait: ([id, session, version, content, total, ofSession]: [
      string,
      string,
      number,
      string,
      number,
      number,
    ]): WaitAddition => add({ id, session, version, content }, { total, ofSession }),
    /** True when there was one. */
    removeWait: ([id]: [string]): boolean => remove.run(id).changes !== 0,
  };
}

function addition(database: DatabaseSync): (wait: StoredWait, bounds: WaitBounds) => WaitAddition {
  const countAll = rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM waits");
  const countOfSession = rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM waits WHERE session = ?");
  const insert = database.prepare("INSERT INTO waits (id, session, version, content) VALUES (?, ?, ?, ?)");
  return ({ id, session, version, content }, { total, ofSession }) => {
    if (Number(countAll.get()?.n) >= total) return "full";
    if (Number(countOfSession.get(session)?.n) >= ofSession) return "session-full";
    insert.run(id, session, version, content);
    return "added";
  };
}
