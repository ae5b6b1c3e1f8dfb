import type { Pool } from "pg";
import { asStoreError } from "../engine/errors.ts";
import { Session } from "../engine/statement.ts";

/** Reads on one of the connections for it; what fails is thrown as a `StoreError`. */
export async function reading<Result>(pool: Pool, read: (session: Session) => Promise<Result>): Promise<Result> {
  let client;
  try {
    client = await pool.connect();
  } catch (error) {
    throw asStoreError(error);
  }
  try {
    const result = await read(new Session(client));
    client.release();
    return result;
  } catch (error) {
    // A connection in an unknown state is not used again.
    client.release(true);
    throw asStoreError(error);
  }
}

/** Reads with several statements at one point in time: else a delivery may be removed between its row and its runs. */
export function readingAtOnce<Result>(pool: Pool, read: (session: Session) => Promise<Result>): Promise<Result> {
  return reading(pool, async (session) => {
    await session.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const result = await read(session);
    await session.script("COMMIT");
    return result;
  });
}
