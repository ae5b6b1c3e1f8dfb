/** Accepts deliveries until it is killed, and prints the id of each one that was acknowledged. */
import { writeSync } from "node:fs";
import { SqliteDatabase } from "../../../src/storage/sqlite/engine/database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../src/storage/sqlite/delivery-store.ts";
import { newClaim, newDelivery } from "../../conformance/store/new-delivery.ts";

const AT_ONCE = 16;

const database = await SqliteDatabase.open({ file: process.argv[2]!, modules: [sqliteStoreModule] });
const store = SqliteDeliveryStore.open(database, { ownsDatabase: true });
writeSync(1, "ready\n");

async function acceptForever(): Promise<void> {
  for (let count = 0; ; count++) {
    const body = Buffer.alloc(500 + count, count % 251);
    const idempotency = newClaim();
    const outcome = await store.accept(newDelivery({ name: `${body.length}`, body, idempotency }));
    writeSync(1, `${outcome.deliveryId}\n`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, acceptForever));
