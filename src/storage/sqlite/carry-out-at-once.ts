import type { CarriedOutAtOnce } from "../new-delivery.ts";
import { DONE } from "./codes.ts";
import type { SqliteDatabase } from "./engine/database.ts";
import { runId, type RunKey } from "./public-id.ts";

/**
 * Carries out the run of a delivery that is being accepted: the host's write and the end of the run, each when what comes
 * before it has taken effect. To be called right after the delivery was handed over. True when the run is done; a run
 * that is not done stays queued, whatever the reason, and what the host has of it is recognized. Never rejects.
 */
export async function carryOutAtOnce(
  database: Pick<SqliteDatabase, "writeFollowing">,
  key: RunKey,
  atOnce: CarriedOutAtOnce,
): Promise<boolean> {
  try {
    const ofHost = atOnce.write(runId(key.run, key.tag));
    if (ofHost === undefined) return false;
    const [, ended] = await Promise.all([
      database.writeFollowing(ofHost.operation, ofHost.args),
      database.writeFollowing("store.settle", [DONE, null, atOnce.at, key.run, key.tag]),
    ]);
    return ended === undefined;
  } catch {
    // The run is carried out in its turn, which meets the same error and reports it.
    return false;
  }
}
