import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";

/** Pauses there can be at once: more than any configuration has mappings. */
const MAX_PAUSES = 10_000;
const MAX_OUTAGES = 1_000;
/** Counts that no budget asks for: too old, or too far ahead by a clock that was wrong. */
const USAGE_KEPT_MINUTES = 2_880;
/** Lapsed rows of usage that one call removes for each row it may add, and at least. */
const REMOVED_PER_ROW = 2;
const MIN_REMOVED = 16;
const USAGE_FIELDS = 5;

/** Prepares what is written of the gateway's own operation; one operation each, its arguments flat. */
export function operationalStateOperations(database: DatabaseSync) {
  const countPauses = rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM pauses");
  const insertPause = database.prepare(`
    INSERT INTO pauses (scope, reason, since) VALUES (?, ?, ?) ON CONFLICT (scope) DO NOTHING`);
  const deletePause = database.prepare("DELETE FROM pauses WHERE scope = ?");
  const forgetUsage = database.prepare("DELETE FROM usage WHERE scope = ?");
  const count = database.prepare(`
    INSERT INTO usage (minute, scope, runs, tokens, micro_usd) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (minute, scope) DO UPDATE SET runs = runs + excluded.runs, tokens = tokens + excluded.tokens,
      micro_usd = micro_usd + excluded.micro_usd`);
  // Two statements, since a condition with OR would look through the whole table.
  const removeUsage = (condition: string) =>
    database.prepare(`
      DELETE FROM usage WHERE (minute, scope) IN
        (SELECT minute, scope FROM usage WHERE ${condition} ORDER BY minute, scope LIMIT ?)`);
  const removePast = removeUsage("minute < ?");
  const removeAhead = removeUsage("minute > ?");
  const countOutages = rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM outages");
  const insertOutage = database.prepare(`
    INSERT INTO outages (subject, since) VALUES (?, ?) ON CONFLICT (subject) DO NOTHING`);
  const deleteOutage = database.prepare("DELETE FROM outages WHERE subject = ?");
  const forgetOldest = database.prepare(`
    DELETE FROM outages WHERE subject IN (SELECT subject FROM outages WHERE subject <> ? ORDER BY since, subject LIMIT ?)`);

  return {
    /** True when the scope was not paused before. Throws when nothing more can be paused. */
    pause([scope, reason, since]: [string, string, number]): boolean {
      if (insertPause.run(scope, reason, since).changes === 0) return false;
      if (Number(countPauses.get()?.n) > MAX_PAUSES) {
        throw new Error(`${MAX_PAUSES} scopes are paused already; resume some that are not in use any more.`);
      }
      return true;
    },
    /** True when the scope was paused; only then is its usage forgotten. */
    resume([scope]: [string]): boolean {
      if (deletePause.run(scope).changes === 0) return false;
      forgetUsage.run(scope);
      return true;
    },
    /** Scope, minute, runs, tokens and millionths of a US dollar of each in turn. */
    addUsage(usage: (string | number)[]): undefined {
      let latest = 0;
      for (let at = 0; at < usage.length; at += USAGE_FIELDS) {
        count.run(usage[at + 1]!, usage[at]!, usage[at + 2]!, usage[at + 3]!, usage[at + 4]!);
        latest = Math.max(latest, Number(usage[at + 1]));
      }
      if (usage.length === 0) return;
      const limit = Math.max(MIN_REMOVED, (usage.length / USAGE_FIELDS) * REMOVED_PER_ROW);
      removePast.run(latest - USAGE_KEPT_MINUTES, limit);
      removeAhead.run(latest + USAGE_KEPT_MINUTES, limit);
    },
    /** True when the outage is new; past the bound it takes the place of the oldest. */
    openOutage([subject, since]: [string, number]): boolean {
      if (insertOutage.run(subject, since).changes === 0) return false;
      const excess = Number(countOutages.get()?.n) - MAX_OUTAGES;
      if (excess > 0) forgetOldest.run(subject, excess);
      return true;
    },
    /** True when there was one. */
    closeOutage: ([subject]: [string]): boolean => deleteOutage.run(subject).changes !== 0,
  };
}
