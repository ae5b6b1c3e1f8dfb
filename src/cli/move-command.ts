/** `reveille move`. */
import { openStoredDeliveries } from "../hosts/shared/open-store.ts";
import { type DeliveryStore, StoreError } from "../storage/delivery-store.ts";
import { type Moved, moveFromSqlite } from "../storage/postgres/move/move-from-sqlite.ts";
import { MOVED_TABLES } from "../storage/postgres/move/tables.ts";
import { untilSignal } from "./end-signals.ts";
import { CliError } from "./errors.ts";
import type { LocationOptions } from "./file-locations.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import { loadConfiguration } from "./load-configuration.ts";
import { ProgressBar } from "./progress-bar.ts";

export interface MoveCommandOptions extends LocationOptions {
  readonly json?: boolean;
}

/** Why runs ended in the SQLite file: they are open in PostgreSQL. */
const MOVED_REASON = "Moved to PostgreSQL with reveille move.";
const RUNS_AT_A_TIME = 500;

/**
 * Copies the deliveries and sessions of a gateway that does not run from its SQLite file to `hooks.store`, and ends the open ones in
 * the file, so that no run is open twice. Rejects when anything is missing, and then the file is as it was.
 */
export function moveStore(options: MoveCommandOptions, io: CliIo): Promise<number> {
  return untilSignal(io, async (signal) => {
    const { gateway } = io;
    const logger = warningsOnly(await io.createLogger());
    const { active } = await loadConfiguration(options, { gateway, logger, signal });
    const { store } = active.config;
    if (store === undefined) {
      throw new CliError(`${gateway.block}.store is not set, or hooks are off: there is no database to move to.`);
    }
    try {
      const state = await gateway.movedState?.();
      const modules = state === undefined ? [] : [state.module];
      const tables = [...MOVED_TABLES, ...(state?.tables ?? [])];
      const { stateDir } = gateway.locate(options);
      const { reader, deliveries, close } = await openStoredDeliveries(stateDir, logger, modules);
      try {
        const bar = new ProgressBar(io, options.json === true);
        const onProgress = ({ table, ...progress }: { table: string; done: number; total: number }): void =>
          bar.show({ ...progress, what: `rows  ${table}` });
        const { url } = store;
        const moved = await moveFromSqlite({ from: reader, tables, url, now: Date.now(), onProgress, signal });
        bar.end();
        report(moved, await endAll(deliveries), options, io);
      } finally {
        await close();
      }
    } catch (error) {
      throw error instanceof StoreError ? new CliError(error.message, { cause: error }) : error;
    }
    return 0;
  });
}

/** Ends what is open in the file; returns how many. */
async function endAll(deliveries: DeliveryStore): Promise<number> {
  let runIds: string[] = [];
  let ended = 0;
  const end = async (): Promise<void> => {
    await deliveries.settleAll(runIds, { state: "canceled", reason: MOVED_REASON });
    ended += runIds.length;
    runIds = [];
  };
  for await (const { runId } of deliveries.openRuns()) {
    if (runIds.push(runId) === RUNS_AT_A_TIME) await end();
  }
  if (runIds.length > 0) await end();
  return ended;
}

function report({ counts, isNew }: Moved, openRuns: number, { json }: MoveCommandOptions, io: CliIo): void {
  if (json === true) {
    io.out(`${JSON.stringify({ moved: isNew, counts, openRuns }, undefined, 2)}\n`);
    return;
  }
  if (!isNew) io.out("The database has all of it already.\n");
  const width = Math.max(...Object.keys(counts).map((table) => table.length));
  for (const [table, count] of Object.entries(counts)) io.out(`${table.padEnd(width)}  ${count}\n`);
  io.out(`The counts match. Open runs that go on in PostgreSQL: ${openRuns}. Start the gateway now.\n`);
}
