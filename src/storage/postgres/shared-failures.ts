import type { Failures } from "../shared-store.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { command, statement } from "./engine/statement.ts";
import type { WriteOperation } from "./engine/write-group.ts";

/** What is older was read before, or is of no use any more. */
const READ_SECONDS = 10;
const KEPT_SECONDS = 60;
const MAX_READ = 10_000;

const insert = command(`
  INSERT INTO reveille.failures (instance, address, times)
  SELECT $1, address, times FROM unnest($2::text[], $3::int[]) AS f (address, times)`);
const forget = command(
  `DELETE FROM reveille.failures WHERE at < clock_timestamp() - interval '${KEPT_SECONDS} seconds'`,
);
const readOthers = statement(
  { id: "integer", address: "text", times: "integer" },
  `SELECT id, address, times FROM reveille.failures
   WHERE at > clock_timestamp() - interval '${READ_SECONDS} seconds' AND instance <> $1 ORDER BY id DESC LIMIT ${MAX_READ}`,
);

interface Report {
  readonly instance: string;
  readonly failures: readonly Failures[];
}

const report: WriteOperation<Report, void> = {
  keysOf: () => ["failures"],
  async run(session, items) {
    for (const { instance, failures } of items) {
      const addresses = failures.map(({ address }) => address);
      await session.run(
        insert,
        instance,
        addresses,
        failures.map(({ times }) => times),
      );
    }
    await session.run(forget);
    return items.map(() => undefined);
  },
};

/** The failures of authentication that gateways on a database report to each other. A call that is right never comes here. */
export class SharedFailures {
  readonly #database: PostgresDatabase;
  /** Rows that were read and are young enough to be read again: they are not committed in the order of their numbers. */
  #read: ReadonlySet<number> = new Set();

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async exchange(own: readonly Failures[]): Promise<readonly Failures[]> {
    const { instance } = this.#database.writer;
    if (own.length > 0) await this.#database.write(report, { instance, failures: own });
    const rows = await this.#database.read((session) => session.rows(readOthers, instance));
    const before = this.#read;
    this.#read = new Set(rows.map(({ id }) => id));
    return rows.filter(({ id }) => !before.has(id)).map(({ address, times }) => ({ address, times }));
  }
}
