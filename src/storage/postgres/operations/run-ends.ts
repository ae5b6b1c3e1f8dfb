/** What the end of runs means for their deliveries and their attempts. */
import { ENDED_SKIPPED, FAILED, RUNS_PER_DELIVERY, SKIPPED } from "../../sqlite/codes.ts";
import { command, type Session } from "../engine/statement.ts";

const noOtherRun = (state: number): string => `NOT EXISTS (
  SELECT 1 FROM reveille.runs AS r
  WHERE r.id >= seq * ${RUNS_PER_DELIVERY} AND r.id < (seq + 1) * ${RUNS_PER_DELIVERY} AND r.state <> ${state})`;

const endDeliveries = command(`
  UPDATE reveille.deliveries SET ended = ${ENDED_SKIPPED}, reason = $2
  WHERE seq = ANY ($1::bigint[]) AND ${noOtherRun(SKIPPED)}`);
const abort = command(`
  UPDATE reveille.attempts SET ended_at = $2, status = 'aborted', error = $3
  WHERE run = ANY ($1::bigint[]) AND status = 'running'`);
const releaseClaims = command(`DELETE FROM reveille.claims WHERE seq = ANY ($1::bigint[]) AND ${noOtherRun(FAILED)}`);

/** A delivery has ended with the last of its runs that was skipped, and is found among the skipped. */
export async function endSkipped(session: Session, runs: readonly number[], reason: string | null): Promise<void> {
  if (runs.length > 0) await session.run(endDeliveries, seqsOf(runs), reason);
}

/** Ends the attempts that are under way: no gateway may wait for their turns. */
export async function abortAttempts(
  session: Session,
  runs: readonly number[],
  { at, reason }: { readonly at: number | null; readonly reason: string | null },
): Promise<void> {
  if (runs.length > 0) await session.run(abort, runs, at, reason);
}

/** Releases the keys of deliveries whose runs have all failed, so that their senders may send them again. */
export async function releaseFailed(session: Session, runs: readonly number[]): Promise<void> {
  if (runs.length > 0) await session.run(releaseClaims, seqsOf(runs));
}

function seqsOf(runs: readonly number[]): number[] {
  return [...new Set(runs.map((run) => Math.floor(run / RUNS_PER_DELIVERY)))];
}
