import pino from "pino";
import { afterAll, beforeAll } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { createDatabase, emptyTables, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { describeDeliveryStore } from "./describe-delivery-store.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describeDeliveryStore("PostgreSQL", {
  async create() {
    const { url } = database;
    const open = () => PostgresDeliveryStore.open({ url, logger: pino({ level: "silent" }) });
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
        await emptyTables(url);
      },
    };
  },
});
