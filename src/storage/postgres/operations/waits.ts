/** Waits of sessions: those that a delivery changes, and what is written of them by itself. */
import type { NoRoom, StoredWait, WaitAddition, WaitChange, WaitClaim } from "../../wait-store.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { columnsOf } from "./insert.ts";

const lockVersions = statement(
  { id: "text", version: "integer" },
  "SELECT id, version FROM reveille.waits WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE",
);
const count = command("UPDATE reveille.wait_changes SET changes = changes + 1");
const update = command(`
  UPDATE reveille.waits AS w SET version = version + 1, content = n.content,
    change = (SELECT changes FROM reveille.wait_changes)
  FROM unnest($1::text[], $2::text[]) AS n (id, content) WHERE w.id = n.id`);
const insert = command(`
  INSERT INTO reveille.waits (id, session, version, content, change)
  SELECT $1, $2, $3, $4, changes FROM reveille.wait_changes`);
const removeAll = command("DELETE FROM reveille.waits WHERE id = ANY ($1::text[])");

/** The versions of waits, which no other gateway changes before the transaction ends. */
export async function lockWaits(session: Session, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  return new Map((await session.rows(lockVersions, ids)).map(({ id, version }) => [id, version]));
}

type NewWait = NonNullable<WaitClaim["added"]>;

/** Changes waits, which are locked, and makes others; those for which there is no room, by their ids. */
export async function changeWaits(
  session: Session,
  { changes, added }: { readonly changes: readonly WaitChange[]; readonly added: readonly NewWait[] },
): Promise<ReadonlyMap<string, NoRoom>> {
  const ended = changes.filter(({ content }) => content === null).map(({ id }) => id);
  const changed = changes.flatMap(({ id, content }) => (content === null ? [] : [[id, content] as const]));
  if (ended.length > 0) await session.run(removeAll, ended);
  const without = new Map<string, NoRoom>();
  if (changed.length + added.length === 0) return without;
  // The row of the count is locked: gateways add one after the other, so that the bounds hold.
  await session.run(count);
  if (changed.length > 0) await session.run(update, ...columnsOf(changed));
  for (const one of added) {
    const addition = await add(session, one);
    if (addition !== "added") without.set(one.wait.id, addition);
  }
  return without;
}

const countWaits = statement(
  { total: "integer", of_session: "integer" },
  "SELECT count(*) AS total, count(*) FILTER (WHERE session = $1) AS of_session FROM reveille.waits",
);
const remove = command("DELETE FROM reveille.waits WHERE id = $1");

async function add(session: Session, { wait, bounds }: NewWait): Promise<WaitAddition> {
  const { total, of_session: ofSession } = (await session.first(countWaits, wait.session))!;
  if (total >= bounds.total) return "full";
  if (ofSession >= bounds.ofSession) return "session-full";
  await session.run(insert, wait.id, wait.session, wait.version, wait.content);
  return "added";
}

export const addWait: WriteOperation<NewWait, WaitAddition> = {
  keysOf: () => ["waits"],
  async run(session, items) {
    const results: WaitAddition[] = [];
    for (const item of items) {
      await session.run(count);
      results.push(await add(session, item));
    }
    return results;
  },
};

export const removeWait: WriteOperation<string, boolean> = {
  keysOf: () => ["waits"],
  async run(session, ids) {
    const results: boolean[] = [];
    for (const id of ids) results.push((await session.run(remove, id)) === 1);
    return results;
  },
};

const readWaits = statement(
  { id: "text", session: "text", version: "integer", content: "text" },
  `SELECT id, session, version, content FROM reveille.waits WHERE change > $1 OR $1 = 0 ORDER BY id COLLATE "C"`,
);
const readMark = statement({ mark: "integer" }, "SELECT changes AS mark FROM reveille.wait_changes");

/** To be read at one point in time. */
export async function waitsSince(
  session: Session,
  since: number,
): Promise<{ readonly waits: readonly StoredWait[]; readonly mark: number }> {
  return { waits: await session.rows(readWaits, since), mark: (await session.first(readMark))!.mark };
}
