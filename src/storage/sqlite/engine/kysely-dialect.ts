import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { SqliteAdapter, SqliteDialect } from "kysely";

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
