import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { Kysely, SqliteAdapter, SqliteDialect } from "kysely";
import { Migrator } from "kysely/migration";
import type { SqliteModule } from "./module.ts";

/**
 * Lets kysely speak to an open `node:sqlite` connection.
 *
 * The connection stays its owner's: do not call `destroy()` on the Kysely instance.
 */
export class NodeSqliteDialect extends SqliteDialect {
  constructor(database: DatabaseSync) {
    super({
      database: {
        close: () => database.close(),
        prepare: (sql) => adapt(database.prepare(sql)),
      },
    });
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

/** A migration that is interrupted leaves nothing behind: SQLite's DDL is transactional. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

type Parameters = readonly unknown[];

function adapt(statement: StatementSync) {
  return {
    reader: statement.columns().length > 0,
    all: (parameters: Parameters) => statement.all(...bindable(parameters)),
    run: (parameters: Parameters) => statement.run(...bindable(parameters)),
    iterate: (parameters: Parameters) => statement.iterate(...bindable(parameters)),
  };
}

/** Kysely types parameters as unknown; SQLite itself refuses what it cannot bind. */
function bindable(parameters: Parameters): SQLInputValue[] {
  return parameters as SQLInputValue[];
}

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
