import type { StoreConfig } from "../config/store.ts";
import type { Logger } from "../core/host.ts";
import { type DeliveryStore, StoreError } from "../storage/delivery-store.ts";
import type { TakeDatabase } from "../storage/postgres/engine/database.ts";

/** What opens the store of the state folder. */
export interface LocalStore {
  /** False: the sessions of the host are in one process, and so several gateways cannot share the runs. */
  readonly canShare: boolean;
  readonly openLocal: () => Promise<DeliveryStore>;
  readonly logger: Logger;
  readonly takeDatabase?: TakeDatabase | undefined;
}

/**
 * Opens the store that is configured. One that is not in the state folder is refused while runs are open there: they
 * were accepted, and would never begin.
 */
export async function openConfiguredStore(
  config: StoreConfig | undefined,
  { openLocal, logger, canShare, takeDatabase }: LocalStore,
): Promise<DeliveryStore> {
  if (config?.several === true && !canShare) throw new StoreError("UNAVAILABLE", NOT_SHARED);
  const local = await openLocal();
  if (config === undefined) {
    await takeDatabase?.(undefined);
    return local;
  }
  try {
    const { queued, running, held } = await local.backlog();
    const open = queued + running + held;
    if (open > 0) throw new StoreError("UNAVAILABLE", runsLeft(open));
  } finally {
    await local.close();
  }
  // The client is loaded only where it is configured.
  const { PostgresDeliveryStore } = await import("../storage/postgres/delivery-store.ts");
  const { url, several: isBeside } = config;
  const store = await PostgresDeliveryStore.open({ url, logger, isBeside, keepsDatabase: takeDatabase !== undefined });
  await takeDatabase?.(store.database);
  return store;
}

const NOT_SHARED = "hooks.store.several: the sessions of this host are in its one process; leave it out.";

function runsLeft(open: number): string {
  const runs = open === 1 ? "one run is" : `${open} runs are`;
  return `hooks.store: ${runs} open in the SQLite file of the state folder; move them with reveille move --from sqlite --to postgres, or start without hooks.store until all have ended.`;
}
