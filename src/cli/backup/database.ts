/** The copy of a database, and the proof that it is one. */
import { backup, DatabaseSync } from "node:sqlite";
import { reasonOf } from "../../core/reason-of.ts";
import { sqliteModule as stateModule } from "../../hosts/embedded/state/sqlite-module.ts";
import { sqliteModule as storeModule } from "../../storage/sqlite/store-module.ts";
import { CliError } from "../errors.ts";

const PAGES_AT_A_TIME = 2_000;
const BUSY_TIMEOUT_MS = 5_000;
const MIGRATION_TABLE = /^(\w+)_migration$/u;

/**
 * Copies a database that a gateway may be writing to, as it is at one moment. The gateway goes on; what it writes
 * meanwhile stays in its write-ahead log until the copy is made.
 */
export async function copyDatabase(
  from: string,
  to: string,
  onPages: (done: number, total: number) => void,
): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // Of this moment: without it, each write of the gateway would begin the copy again.
    source.exec("BEGIN");
    source.prepare("SELECT count(*) FROM sqlite_schema").get();
    await backup(source, to, {
      rate: PAGES_AT_A_TIME,
      progress: ({ totalPages, remainingPages }) => onPages(totalPages - remainingPages, totalPages),
    });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(to);
  try {
    // One file, without a log beside it.
    copy.exec("PRAGMA journal_mode = DELETE");
  } finally {
    copy.close();
  }
}

/** Throws a {@link CliError} for a database that is damaged, or whose tables this version does not know. */
export function verifyDatabase(file: string): void {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const [first] = database.prepare("PRAGMA integrity_check(1)").all();
      const found = Object.values(first ?? {})[0];
      if (found !== "ok") throw new Error(`it is damaged (${String(found)})`);
      refuseUnknownTables(database);
    } finally {
      database.close();
    }
  } catch (error) {
    throw new CliError(`The database in the backup cannot be used: ${reasonOf(error)}.`);
  }
}

/** Older tables are brought up to date by the next start; newer ones are unknown here. */
function refuseUnknownTables(database: DatabaseSync): void {
  const modules = new Map([storeModule, stateModule].map((module) => [module.name, Object.keys(module.migrations)]));
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const migrated = tables.flatMap(({ name }) => MIGRATION_TABLE.exec(String(name))?.[1] ?? []);
  if (!migrated.includes(storeModule.name)) throw new Error("it is not a database of Reveille");
  for (const module of migrated) {
    const known = modules.get(module)?.toSorted() ?? [];
    const applied = database.prepare(`SELECT name FROM "${module}_migration" ORDER BY name`).all();
    const unknown = applied.find(({ name }, at) => name !== known[at]);
    if (unknown !== undefined) {
      throw new Error(`a newer version of Reveille wrote it (migration ${String(unknown["name"])} of ${module})`);
    }
  }
}
