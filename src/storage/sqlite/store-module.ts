/** The delivery store's part of the database file; imported by the writer thread. */
import type { StatsQuery } from "../delivery-stats.ts";
import type { DeliveryQuery } from "../delivery-store.ts";
import type { SqliteModule } from "./engine/module.ts";
import { snapshotReader } from "./engine/row-query.ts";
import { acceptOperation } from "./operations/accept.ts";
import { claimOperations } from "./operations/claims.ts";
import { coalesceOperations } from "./operations/coalesce-and-overlap.ts";
import { replayKeyMemory } from "./operations/replay-key-memory.ts";
import { digestOperations } from "./operations/digests.ts";
import { operationalStateOperations } from "./operations/operational-state.ts";
import { retentionOperations } from "./operations/retention.ts";
import { resolveOperations } from "./operations/resolve.ts";
import { runOperations } from "./operations/run.ts";
import { waitChanges, waitOperations } from "./operations/waits.ts";
import { storeMigrations } from "./migrations.ts";
import { DeliveryList } from "./readers/delivery-list.ts";
import { StatsReader } from "./readers/delivery-stats.ts";
import { DigestBuilder } from "./readers/digest-builder.ts";
import { OpenRunReader } from "./readers/open-runs.ts";

/** The time after which a search ends its page, with a cursor to go on. */
const PAGE_MS = 200;

export const sqliteModule: SqliteModule = {
  name: "store",
  migrations: storeMigrations,
  operations(database) {
    const claims = claimOperations(database);
    const replayKeys = replayKeyMemory(database, claims);
    const shared = { claims, replayKeys, coalescing: coalesceOperations(database), waits: waitChanges(database) };
    return {
      accept: acceptOperation(database, shared),
      ...runOperations(database, shared),
      ...operationalStateOperations(database),
      ...waitOperations(database),
      ...resolveOperations(database),
      ...retentionOperations(database, replayKeys),
      ...digestOperations(database),
      /** Does nothing; its answer follows the answers of all earlier writes. */
      barrier: () => undefined,
    };
  },
  reads(reader, letPass) {
    const list = new DeliveryList(reader, { pageMs: PAGE_MS, beforeWindow: letPass });
    const stats = new StatsReader(reader);
    const openRuns = new OpenRunReader(reader);
    const digests = new DigestBuilder(reader);
    const inSnapshot = snapshotReader(reader);
    return {
      list: (query: DeliveryQuery) => list.page(query),
      stats: (query: StatsQuery) => inSnapshot(() => stats.page(query)),
      backlog: () => openRuns.backlog(),
      missingDigests: (from: number) => inSnapshot(() => digests.step(from)),
    };
  },
};
