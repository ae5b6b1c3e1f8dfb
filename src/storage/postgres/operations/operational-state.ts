/** What is written of the gateway's own operation, and a person's word on a dead letter; every table is bounded. */
import { ENDED_FAILED, FAILED, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import type { DeliveryKey } from "../../sqlite/public-id.ts";
import type { Pause, Usage } from "../../operational-state.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { columnsOf } from "./insert.ts";

/** Pauses there can be at once: more than any configuration has mappings. */
export const MAX_PAUSES = 10_000;
const MAX_OUTAGES = 1_000;
/** Counts that no budget asks for: too old, or too far ahead by a clock that was wrong. */
const USAGE_KEPT_MINUTES = 2_880;

/** A write that is carried out by itself. */
function single<Item, Result>(
  run: (session: Session, item: Item) => Promise<Result>,
  key: string,
): WriteOperation<Item, Result> {
  return {
    keysOf: () => [key],
    run: async (session, items) => {
      const results: Result[] = [];
      for (const item of items) results.push(await run(session, item));
      return results;
    },
  };
}

const COUNT = { count: "integer" } as const;
const countPauses = statement(COUNT, "SELECT count(*) AS count FROM reveille.pauses");
const insertPause = command(`
  INSERT INTO reveille.pauses (scope, reason, since) VALUES ($1, $2, $3) ON CONFLICT (scope) DO NOTHING`);
const deletePause = command("DELETE FROM reveille.pauses WHERE scope = $1");
const forgetUsage = command("DELETE FROM reveille.usage WHERE scope = $1");
const addCounts = command(`
  INSERT INTO reveille.usage AS u (minute, scope, runs, tokens, micro_usd)
  SELECT minute, scope, sum(runs), sum(tokens), sum(micro_usd)
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n (minute, scope, runs, tokens, micro_usd)
  GROUP BY minute, scope
  ON CONFLICT (minute, scope) DO UPDATE SET runs = u.runs + excluded.runs, tokens = u.tokens + excluded.tokens,
    micro_usd = u.micro_usd + excluded.micro_usd`);
const removeCounts = command(`
  DELETE FROM reveille.usage WHERE minute < $1::bigint - ${USAGE_KEPT_MINUTES} OR minute > $1::bigint + ${USAGE_KEPT_MINUTES}`);
const insertOutage = command(`
  INSERT INTO reveille.outages (subject, since) VALUES ($1, $2) ON CONFLICT (subject) DO NOTHING`);
const forgetOutages = command(`
  DELETE FROM reveille.outages WHERE subject IN (
    SELECT subject FROM reveille.outages WHERE subject <> $1 ORDER BY since DESC, subject DESC OFFSET ${MAX_OUTAGES - 1})`);
const deleteOutage = command("DELETE FROM reveille.outages WHERE subject = $1");

/** False when the scope is paused already. */
export const pause = single(async (session, { scope, reason, since }: Pause) => {
  if ((await session.run(insertPause, scope, reason, since)) === 0) return false;
  const { count } = (await session.first(countPauses))!;
  if (count <= MAX_PAUSES) return true;
  await session.run(deletePause, scope);
  return "full";
}, "pauses");

/** Only what was paused loses its counted usage. */
export const resume = single(async (session, scope: string) => {
  if ((await session.run(deletePause, scope)) === 0) return false;
  await session.run(forgetUsage, scope);
  return true;
}, "pauses");

export const addUsage = single(async (session, usage: readonly Usage[]) => {
  if (usage.length === 0) return;
  const cells = usage.map(({ minute, scope, runs, tokens, microUsd }) => [minute, scope, runs, tokens, microUsd]);
  await session.run(addCounts, ...columnsOf(cells));
  await session.run(removeCounts, Math.max(...usage.map(({ minute }) => minute)));
}, "usage");

/** True when the outage is new; past the bound it takes the place of the oldest. */
export const openOutage = single(async (session, { subject, since }: { subject: string; since: number }) => {
  if ((await session.run(insertOutage, subject, since)) === 0) return false;
  await session.run(forgetOutages, subject);
  return true;
}, "outages");

export const closeOutage = single(
  async (session, subject: string) => (await session.run(deleteOutage, subject)) === 1,
  "outages",
);

const insertKey = command(`
  INSERT INTO reveille.gateway_key (one, key) VALUES (true, $1) ON CONFLICT (one) DO NOTHING`);
const readKey = statement({ key: "blob" }, "SELECT key FROM reveille.gateway_key");

/** The key that is there; else the one that is given. */
export const keepKey = single(async (session, own: Uint8Array) => {
  await session.run(insertKey, own);
  return new Uint8Array((await session.first(readKey))!.key);
}, "gateway key");

const exists = statement({ seq: "integer" }, "SELECT seq FROM reveille.deliveries WHERE seq = $1 AND tag = $2");
const resolveFailed = command(`
  UPDATE reveille.deliveries SET resolved_at = $2, resolved_note = $3 WHERE seq = $1 AND resolved_at IS NULL
    AND (ended = ${ENDED_FAILED} OR (ended IS NULL AND ${FAILED} = (SELECT max(state) FROM reveille.runs
      WHERE id >= $1::bigint * ${RUNS_PER_DELIVERY} AND id < ($1::bigint + 1) * ${RUNS_PER_DELIVERY})))`);

/** `undefined`: there is no such delivery. */
export const resolveDelivery = single(
  async (session, { key, at, note }: { key: DeliveryKey; at: number; note: string | null }) => {
    if ((await session.first(exists, key.seq, key.tag)) === undefined) return undefined;
    return (await session.run(resolveFailed, key.seq, at, note)) === 1;
  },
  "resolutions",
);
