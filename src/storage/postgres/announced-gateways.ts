import { hostname } from "node:os";
import type { SharedFacts, OtherGateway } from "../shared-store.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { command, statement } from "./engine/statement.ts";
import type { WriteOperation } from "./engine/write-group.ts";

/** One that has said nothing for longer is gone. */
const KEPT_SECONDS = 60;

const write = command(`
  INSERT INTO reveille.gateways (instance, host, pid, version, config, seen_at)
  VALUES ($1, $2, $3, $4, $5, clock_timestamp())
  ON CONFLICT (instance) DO UPDATE SET version = excluded.version, config = excluded.config, seen_at = excluded.seen_at`);
const forget = command(
  `DELETE FROM reveille.gateways WHERE seen_at < clock_timestamp() - interval '${KEPT_SECONDS} seconds'`,
);
const readOthers = statement(
  { host: "text", pid: "integer", version: "text", config: "text" },
  "SELECT host, pid, version, config FROM reveille.gateways WHERE instance <> $1 ORDER BY host, pid LIMIT 100",
);

interface Announcement extends SharedFacts {
  readonly instance: string;
}

const announcing: WriteOperation<Announcement, void> = {
  keysOf: () => ["gateways"],
  async run(session, items) {
    for (const { instance, version, config } of items) {
      await session.run(write, instance, hostname(), process.pid, version, config);
    }
    await session.run(forget);
    return items.map(() => undefined);
  },
};

/** Records a gateway among those on the database, and returns the others. */
export async function announce(database: PostgresDatabase, own: SharedFacts): Promise<readonly OtherGateway[]> {
  const { instance } = database.writer;
  await database.write(announcing, { ...own, instance });
  return database.read((session) => session.rows(readOthers, instance));
}
