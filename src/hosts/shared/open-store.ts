/** The one place that decides which delivery store a host opens. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../core/host.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../storage/sqlite/delivery-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";

/** Holds the deliveries and the host's own state. */
const DATABASE_FILE = "reveille.sqlite";

export interface HostStore {
  /** The host closes it; closing the delivery store leaves it open. */
  readonly database: SqliteDatabase;
  readonly openDeliveryStore: () => Promise<DeliveryStore>;
}

export interface HostStoreOptions {
  /** Absolute; created with mode 0700 when it does not exist. */
  readonly stateDir: string;
  /** The file that exports the host's own tables and operations as `sqliteModule`. */
  readonly stateModule: URL;
  readonly logger: Logger;
}

/** Opens the database of a host in its state directory; rejects with a `SqliteError` when it cannot be opened. */
export async function openHostStore({ stateDir, stateModule, logger }: HostStoreOptions): Promise<HostStore> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const database = await SqliteDatabase.open({
    file: join(stateDir, DATABASE_FILE),
    modules: [stateModule, sqliteStoreModule],
    logger,
  });
  return { database, openDeliveryStore: async () => SqliteDeliveryStore.open(database) };
}
