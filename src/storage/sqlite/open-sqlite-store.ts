import { join } from "node:path";
import type { GatewayHost } from "../../core/host.ts";
import { SqliteDatabase } from "./engine/database.ts";
import type { DeliveryStore } from "../delivery-store.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "./delivery-store.ts";

const FILE_NAME = "reveille-deliveries.sqlite";

/** Opens a store in a file of its own in the host's state directory; closing it closes the file. */
export async function openSqliteStore(host: Pick<GatewayHost, "paths" | "logger">): Promise<DeliveryStore> {
  const database = await SqliteDatabase.open({
    file: join(host.paths.stateDir, FILE_NAME),
    modules: [sqliteStoreModule],
    logger: host.logger,
  });
  return SqliteDeliveryStore.open(database, { ownsDatabase: true });
}
