/** The one place that decides which delivery store a host opens. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "../../core/host.ts";
import { type DeliveryStore, StoreError } from "../../storage/delivery-store.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../storage/sqlite/delivery-store.ts";
import { markFile } from "../../storage/sqlite/engine/commit-mark.ts";
import { FileLock, SqliteDatabase, type SqliteDatabaseOptions } from "../../storage/sqlite/engine/database.ts";
import { describeOpenError, SqliteError } from "../../storage/sqlite/engine/errors.ts";

/** Holds the deliveries and the host's own state. */
export const DATABASE_FILE = "reveille.sqlite";

export interface HostStore {
  /** The host closes it; closing the delivery store leaves it open. */
  readonly database: SqliteDatabase;
  readonly openDeliveryStore: () => Promise<DeliveryStore>;
}

export interface HostStoreOptions extends Pick<SqliteDatabaseOptions, "acceptLoss" | "compact" | "onUpdate"> {
  /** Absolute; created with mode 0700 when it does not exist. */
  readonly stateDir: string;
  /** The file that exports the host's own tables and operations as `sqliteModule`. */
  readonly stateModule: URL;
  readonly logger: Logger;
}

/** Opens the database of a host in its state directory; rejects with a `SqliteError` when it cannot be opened. */
export async function openHostStore(options: HostStoreOptions): Promise<HostStore> {
  const { stateDir, stateModule, logger, acceptLoss, compact, onUpdate } = options;
  makeStateDir(stateDir, logger);
  const database = await SqliteDatabase.open({
    file: join(stateDir, DATABASE_FILE),
    modules: [stateModule, sqliteStoreModule],
    logger,
    acceptLoss,
    compact,
    onUpdate,
  });
  return { database, openDeliveryStore: async () => SqliteDeliveryStore.open(database) };
}

/** Beside the database, of its last commit. */
export const MARK_FILE = markFile(DATABASE_FILE);

/**
 * Keeps every host from starting on a state directory until it is released. Throws a `StoreError` while one runs there;
 * `undefined` where nothing is stored.
 */
export function holdState(stateDir: string): Pick<FileLock, "release"> | undefined {
  const file = join(stateDir, DATABASE_FILE);
  if (!existsSync(file)) return undefined;
  try {
    return FileLock.acquire(file);
  } catch (error) {
    throw error instanceof SqliteError ? new StoreError("UNAVAILABLE", error.message, { cause: error }) : error;
  }
}

/** The deliveries that a host has stored in its state directory. */
export interface StoredDeliveries {
  /** Only reads. */
  readonly reader: SqliteDatabase["reader"];
  readonly deliveries: DeliveryStore;
  readonly close: () => Promise<void>;
}

/**
 * Opens what a host that does not run has stored, with the tables of its state modules; rejects with a `StoreError`
 * when it runs, or has stored nothing.
 */
export async function openStoredDeliveries(
  stateDir: string,
  logger: Logger,
  stateModules: readonly URL[] = [],
): Promise<StoredDeliveries> {
  const file = join(stateDir, DATABASE_FILE);
  if (!existsSync(file)) throw new StoreError("UNAVAILABLE", `There is no ${file}: nothing is stored there.`);
  const modules = [...stateModules, sqliteStoreModule];
  const database = await SqliteDatabase.open({ file, modules, logger }).catch((error: unknown) => {
    throw error instanceof SqliteError ? new StoreError("UNAVAILABLE", error.message, { cause: error }) : error;
  });
  const deliveries = SqliteDeliveryStore.open(database, { ownsDatabase: true });
  return { reader: database.reader, deliveries, close: () => deliveries.close() };
}

function makeStateDir(stateDir: string, logger: Logger): void {
  try {
    makeFolder(stateDir);
  } catch (error) {
    throw new SqliteError("UNAVAILABLE", describeOpenError(stateDir, error), { cause: error });
  }
  const mode = statSync(stateDir).mode & 0o777;
  if ((mode & 0o022) === 0) return;
  logger.warn({ stateDir, mode: mode.toString(8) }, "other users can change the state folder; run chmod 700 on it");
}

/** Node's own recursive mkdir loops without an end where a parent exists and allows no folder, as in /proc. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}
