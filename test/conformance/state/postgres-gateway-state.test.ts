import pino from "pino";
import { afterAll, beforeAll } from "vitest";
import { PostgresState } from "../../../src/hosts/embedded/state/postgres-state.ts";
import { PostgresDatabase } from "../../../src/storage/postgres/engine/database.ts";
import { createDatabase, emptyTables, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { describeGatewayState } from "./describe-gateway-state.ts";

let own: TestDatabase;
beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());

describeGatewayState("PostgreSQL", async () => {
  const open = () => PostgresDatabase.open({ url: own.url, logger: pino({ level: "silent" }) });
  let database = await open();
  return {
    state: new PostgresState(database),
    sql: async (text) =>
      (await runSql(own.url, text.replaceAll("embedded_", "reveille.embedded_"))) as readonly Record<string, unknown>[],
    async reopen() {
      await database.close();
      database = await open();
      return new PostgresState(database);
    },
    async dispose() {
      await database.close();
      await emptyTables(own.url);
    },
  };
});
