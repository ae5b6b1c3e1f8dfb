/** `reveille migrate`. */
import { StoreError } from "../storage/delivery-store.ts";
import { migrate } from "../storage/postgres/migrate.ts";
import { CliError } from "./errors.ts";
import { untilSignal } from "./end-signals.ts";
import type { LocationOptions } from "./file-locations.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import { loadConfiguration } from "./load-configuration.ts";

export interface MigrateOptions extends LocationOptions {
  readonly json?: boolean;
}

/**
 * Makes the tables of `hooks.store`, or brings them to this version, and says what was applied. Rejects when the
 * configuration names no database, and when the database is of a later version.
 */
export function migrateStore(options: MigrateOptions, io: CliIo): Promise<number> {
  return untilSignal(io, async (signal) => {
    const { gateway } = io;
    const load = { gateway, logger: warningsOnly(await io.createLogger()), signal };
    const { active } = await loadConfiguration(options, load);
    const { store } = active.config;
    if (store === undefined) {
      throw new CliError(`${gateway.block}.store is not set, or hooks are off: there are no tables to make.`);
    }
    const applied = await migrate(store.url).catch((error: unknown) => {
      throw error instanceof StoreError ? new CliError(error.message, { cause: error }) : error;
    });
    if (options.json === true) io.out(`${JSON.stringify({ applied }, undefined, 2)}\n`);
    else if (applied.length === 0) io.out("The tables are those of this version.\n");
    else for (const name of applied) io.out(`applied  ${name}\n`);
    return 0;
  });
}
