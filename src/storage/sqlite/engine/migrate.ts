import type { DatabaseSync } from "node:sqlite";
import { reasonOf } from "../../../core/reason-of.ts";
import type { SqliteModule } from "./module.ts";

/** How far the file is on its way to the form of this version: the steps done, of those that are due. */
export interface UpdateStep {
  readonly done: number;
  readonly total: number;
  readonly what: "steps of the database's update" | "rewriting of the database";
}

/**
 * Brings the tables of a module up to date. All pending migrations are one transaction.
 *
 * The table `<module>_migration` records the name and the time (ISO 8601 UTC) of each applied migration.
 *
 * `onStep` is called before each statement on a file that has tables already: some take minutes on a large one.
 * Throws when a migration fails (nothing of it stays), or when a newer version wrote the file: its
 * migrations are not known here.
 */
export function migrate(
  database: DatabaseSync,
  { name, migrations }: Pick<SqliteModule, "name" | "migrations">,
  onStep?: (step: UpdateStep) => void,
): void {
  const table = `"${name}_migration"`;
  const known = Object.keys(migrations).toSorted();
  try {
    // Deferred: a file that is up to date is only read.
    database.exec("BEGIN");
    database.exec(
      `CREATE TABLE IF NOT EXISTS ${table} ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null)`,
    );
    const applied = database.prepare(`SELECT name FROM ${table} ORDER BY name`).all();
    refuseUnknown(
      applied.map((row) => String(row["name"])),
      known,
    );
    const record = database.prepare(`INSERT INTO ${table} VALUES (?, ?)`);
    const due = known.slice(applied.length);
    const total = due.reduce((sum, pending) => sum + (migrations[pending]?.length ?? 0), 0);
    let done = 0;
    for (const pending of due) {
      for (const statement of migrations[pending] ?? []) {
        if (applied.length > 0) onStep?.({ done: done++, total, what: "steps of the database's update" });
        database.exec(statement);
      }
      record.run(pending, new Date().toISOString());
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw new Error(`The tables of ${name} could not be brought up to date: ${reasonOf(error)}`, { cause: error });
  }
}

/** Applied migrations are always the first ones of those that this version knows. */
function refuseUnknown(applied: readonly string[], known: readonly string[]): void {
  const unknown = applied.find((name, index) => name !== known[index]);
  if (unknown === undefined) return;
  throw new Error(`a newer version of Reveille wrote the file (migration ${unknown}); run that version again`);
}
