/** The delivery store's part of the database file; imported by the writer thread. */
import type { SqliteModule } from "./engine/module.ts";
import { acceptOperation } from "./operations/accept.ts";
import { claimOperations } from "./operations/claims.ts";
import { coalesceOperations } from "./operations/coalesce-and-overlap.ts";
import { replayKeyMemory } from "./operations/replay-key-memory.ts";
import { operationalStateOperations } from "./operations/operational-state.ts";
import { retentionOperations } from "./operations/retention.ts";
import { resolveOperations } from "./operations/resolve.ts";
import { runOperations } from "./operations/run.ts";
import { storeMigrations } from "./migrations.ts";

export const sqliteModule: SqliteModule = {
  name: "store",
  migrations: storeMigrations,
  operations(database) {
    const claims = claimOperations(database);
    const replayKeys = replayKeyMemory(database, claims);
    const shared = { claims, replayKeys, coalescing: coalesceOperations(database) };
    return {
      accept: acceptOperation(database, shared),
      ...runOperations(database, shared),
      ...operationalStateOperations(database),
      ...resolveOperations(database),
      ...retentionOperations(database, replayKeys),
      /** Does nothing; its answer follows the answers of all earlier writes. */
      barrier: () => undefined,
    };
  },
};
