/** Locks that end with the transaction: of several gateways one decides about a key at a time. */
import { QUEUED } from "../../sqlite/codes.ts";
import { command, type Session } from "../engine/statement.ts";

/** "Keys" as a number; those who lock in the order of the numbers do not wait for each other in a circle. */
const LOCK_CLASS = 0x4b657973;
/** Keys with the same digits share a lock, which does no harm. */
const DIGITS = 8;

const lock = command(`SELECT pg_advisory_xact_lock(${LOCK_CLASS}, key) FROM unnest($1::int[]) AS key`);
/** The gateway that carries a run out changes its row first: it waits, or what it has done is seen. */
const lockRuns = command(`
  SELECT 1 FROM reveille.runs WHERE state >= ${QUEUED}
    AND (id IN (SELECT run FROM reveille.coalescing WHERE key = ANY ($1::bytea[])) OR overlap = ANY ($2::bytea[]))
  ORDER BY id FOR UPDATE`);

/** What is read after this is not changed by another gateway before the transaction ends. */
export async function lockKeys(session: Session, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const numbers = keys.map((key) => Number.parseInt(key.slice(-DIGITS), 16) | 0);
  await session.run(
    lock,
    [...new Set(numbers)].toSorted((left, right) => left - right),
  );
}

/** Keeps the runs that coalesce or overlap under these keys from being begun meanwhile. */
export async function lockRunsOf(
  session: Session,
  keys: { readonly coalesce: readonly Uint8Array[]; readonly overlap: readonly Uint8Array[] },
): Promise<void> {
  if (keys.coalesce.length + keys.overlap.length > 0) await session.run(lockRuns, keys.coalesce, keys.overlap);
}
