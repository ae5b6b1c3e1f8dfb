import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteDatabase } from "../../../src/storage/sqlite/engine/database.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../src/storage/sqlite/delivery-store.ts";
import { describeDeliveryStore } from "./describe-delivery-store.ts";

describeDeliveryStore("SQLite", {
  async create() {
    const folder = await mkdtemp(join(tmpdir(), "sqlite-store-"));
    const open = async (): Promise<DeliveryStore> => {
      const database = await SqliteDatabase.open({
        file: join(folder, "deliveries.sqlite"),
        modules: [sqliteStoreModule],
      });
      return SqliteDeliveryStore.open(database, { ownsDatabase: true });
    };
    const store = await open();
    let current = store;
    return {
      store,
      async reopen() {
        await current.close();
        current = await open();
        return current;
      },
      async dispose() {
        await current.close();
        await rm(folder, { recursive: true });
      },
    };
  },
});
