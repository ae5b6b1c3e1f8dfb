import type { SenderKeys } from "../shared-store.ts";
import { connect } from "./engine/connect.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { asStoreError } from "./engine/errors.ts";
import { command, Session, statement } from "./engine/statement.ts";
import type { WriteOperation } from "./engine/write-group.ts";

const readAll = statement({ route: "text", key: "text" }, "SELECT route, key FROM reveille.sender_keys ORDER BY route");
const insert = command("INSERT INTO reveille.sender_keys (route, key) VALUES ($1, $2) ON CONFLICT (route) DO NOTHING");
const remove = command("DELETE FROM reveille.sender_keys WHERE route = $1");

type Work<Result> = (session: Session) => Promise<Result>;
type Write = <Result>(work: Work<Result>) => Promise<Result>;

const working: WriteOperation<Work<unknown>, unknown> = {
  keysOf: () => ["sender keys"],
  async run(session, items) {
    const results: unknown[] = [];
    for (const work of items) results.push(await work(session));
    return results;
  },
};

/** The keys in the database of a gateway that runs. */
export function senderKeysIn(database: PostgresDatabase): SenderKeys {
  const write: Write = async <Result>(work: Work<Result>) => (await database.write(working, work)) as Result;
  return senderKeys((work) => database.read(work), write);
}

/** Uses the keys without a gateway, over a connection of its own; rejects with a `StoreError`. */
export async function withSenderKeys<Result>(url: string, use: (keys: SenderKeys) => Promise<Result>): Promise<Result> {
  const client = await connect(url, { purpose: "keys" });
  try {
    const session = new Session(client);
    return await use(
      senderKeys(
        (work) => work(session),
        (work) => work(session),
      ),
    );
  } catch (error) {
    throw asStoreError(error);
  } finally {
    await client.end();
  }
}

function senderKeys(read: Write, write: Write): SenderKeys {
  return {
    read: async () => new Map((await read((session) => session.rows(readAll))).map(({ route, key }) => [route, key])),
    add: (route, key) => write(async (session) => (await session.run(insert, route, key)) === 1),
    remove: async (route) => void (await write((session) => session.run(remove, route))),
  };
}
