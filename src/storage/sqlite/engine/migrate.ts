import type { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import { NodeSqliteDialect } from "./kysely-dialect.ts";
import type { SqliteModule } from "./module.ts";

/**
 * Brings the tables of a module up to date; each run of pending migrations is one transaction.
 *
 * Rejects when a migration fails (nothing of it stays) or when the file was written by a newer
 * version, whose migrations this one does not know.
 */
export async function migrate(database: DatabaseSync, module: SqliteModule): Promise<void> {
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) }),
    provider: { getMigrations: () => Promise.resolve({ ...module.migrations }) },
    migrationTableName: `${module.name}_migration`,
    migrationLockTableName: `${module.name}_migration_lock`,
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const reason = error instanceof Error ? error.message : "unknown";
  throw new Error(`The tables of ${module.name} could not be brought up to date: ${reason}`, { cause: error });
}
