import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { STATE_MODULE_URL } from "../../../src/hosts/embedded/state/sqlite-module.ts";
import { SqliteState } from "../../../src/hosts/embedded/state/sqlite-state.ts";
import { SqliteDatabase } from "../../../src/storage/sqlite/engine/database.ts";
import { temporaryFolder } from "../../unit/storage/sqlite/engine/temporary-folder.ts";
import { describeGatewayState } from "./describe-gateway-state.ts";

describeGatewayState("SQLite", async () => {
  const file = join(temporaryFolder(), "state.sqlite");
  const open = () => SqliteDatabase.open({ file, modules: [STATE_MODULE_URL] });
  let database = await open();
  return {
    state: new SqliteState(database),
    async sql(text) {
      const direct = new DatabaseSync(file, { timeout: 10_000 });
      try {
        return direct.prepare(text).all();
      } finally {
        direct.close();
      }
    },
    async reopen() {
      await database.close();
      database = await open();
      return new SqliteState(database);
    },
    dispose: () => database.close(),
  };
});
