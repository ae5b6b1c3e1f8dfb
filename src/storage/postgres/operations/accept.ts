import { MAX_LISTED_REPEATS } from "../../delivery-store.ts";
import type { ChangedRun } from "../../shared-store.ts";
import type { NoRoom, WaitChange, WaitClaim } from "../../wait-store.ts";
import { type AcceptOutcome, OVERLAP_LATEST_REASON, OVERLAP_SKIP_REASON } from "../../new-delivery.ts";
import { ENDED_COALESCED, ENDED_FAILED, ENDED_SKIPPED, RUNS_PER_DELIVERY, SKIPPED } from "../../sqlite/codes.ts";
import { deliveryId, runId, runIds } from "../../sqlite/public-id.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { leaveRuns, readTaken, TAKE_ALL } from "./arrivals.ts";
import { lockKeys } from "./key-locks.ts";
import { type Holder, holdsUntil, readKeys, type Surroundings } from "./accept-surroundings.ts";
import { columnsOf, insertAll, type Insertion } from "./insert.ts";
import { CLAIM_GRACE_MS, deliveryBytes, type KeyClaim, type NewDeliveryRow } from "./new-delivery-row.ts";
import { endSkipped } from "./run-ends.ts";
import { changeWaits } from "./waits.ts";

const MARK = "(SELECT changes FROM reveille.wait_changes)";
const nextSeqs = statement(
  { seq: "integer", mark: "integer" },
  `SELECT nextval('reveille.delivery_seq') AS seq, ${MARK} AS mark FROM generate_series(1, $1)`,
);
/** Both by one message: what another gateway has left is looked for with each batch. */
const drawAndTake = statement(
  { seq: "integer?", run: "integer?", mark: "integer" },
  `WITH taken AS (${TAKE_ALL}) SELECT nextval('reveille.delivery_seq') AS seq, NULL::bigint AS run, ${MARK} AS mark
  FROM generate_series(1, $1::int) UNION ALL SELECT NULL, run, 0 FROM taken`,
);
const claimKeys = command(`
  INSERT INTO reveille.claims (key, expires_at, seq) SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
  ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at, seq = excluded.seq`);
/**
 * Faster than claims come; a request counts as of the time it began, and may have been on its way for minutes. What
 * another gateway has in hand is left to it.
 */
const purgeClaims = command(`
  DELETE FROM reveille.claims WHERE key IN (
    SELECT key FROM reveille.claims WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`);
const countRepeats = command(`
  UPDATE reveille.deliveries AS d SET repeats = n.repeats FROM unnest($1::bigint[], $2::int[]) AS n (seq, repeats)
  WHERE d.seq = n.seq`);
const openCoalescing = command(`
  INSERT INTO reveille.coalescing (key, run, opened_at) SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
  ON CONFLICT (key) DO UPDATE SET run = excluded.run, opened_at = excluded.opened_at`);
const joinRuns = command(`
  UPDATE reveille.runs AS r SET due_at = n.due_at, calls = calls + 1
  FROM unnest($1::bigint[], $2::bigint[]) AS n (id, due_at) WHERE r.id = n.id`);
const skipRuns = command(`
  UPDATE reveille.runs SET state = ${SKIPPED}, reason = $2, overlap = NULL WHERE id = ANY ($1::bigint[])`);

/** `stale`: nothing is stored. */
export type PlannedOutcome = AcceptOutcome | { readonly kind: "stale" };

/** What the store did with a delivery. */
export interface Acceptance {
  readonly outcome: PlannedOutcome;
  /** What other gateways have changed before. */
  readonly taken?: readonly ChangedRun[];
}

/** Accepts deliveries: a repeat is recognized first, then coalescing or overlap is decided. */
function accepting(accept: WriteOperation<NewDeliveryRow, Acceptance>["run"]) {
  return { keysOf, isFirst: true, bytesOf: deliveryBytes, run: accept } satisfies WriteOperation<
    NewDeliveryRow,
    Acceptance
  >;
}

/** By the gateway that carries out the runs: it is given what others have accepted before. */
export const acceptAndTake = accepting(async (session, rows) => {
  const drawn = await session.rows(drawAndTake, rows.length);
  const taken = await readTaken(
    session,
    drawn.flatMap(({ run }) => run ?? []),
  );
  const own = drawn.flatMap(({ seq, mark }) => (seq === null ? [] : [{ seq, mark }]));
  const { outcomes } = await acceptAll(session, rows, own);
  return outcomes.map((outcome, index) => (index === 0 ? { outcome, taken } : { outcome }));
});

/** By another gateway: the one that carries out the runs finds them. */
export const acceptAndLeave = accepting(async (session, rows) => {
  const drawn = await session.rows(nextSeqs, rows.length);
  const { outcomes, changed } = await acceptAll(session, rows, drawn);
  await leaveRuns(session, changed);
  return outcomes.map((outcome) => ({ outcome }));
});

/** `mark`: of the waits that there are. */
async function acceptAll(
  session: Session,
  rows: readonly NewDeliveryRow[],
  drawn: readonly { readonly seq: number; readonly mark: number }[],
) {
  await lockKeys(session, rows.flatMap(keysOf));
  const plan = new AcceptPlan({ ...(await readKeys(session, rows)), mark: drawn[0]!.mark });
  const planned = rows.map((row, index) => plan.accept(row, drawn[index]!.seq));
  const without = await plan.carryOut(session);
  const outcomes = planned.map((outcome, index): PlannedOutcome => {
    const id = rows[index]!.delivery.waits?.added?.wait.id;
    const noRoom = id === undefined ? undefined : without.get(id);
    return noRoom !== undefined && outcome.kind === "accepted" ? { ...outcome, noRoom } : outcome;
  });
  return { outcomes, changed: plan.changed };
}

function keysOf({ claim, replayKeys, coalesce, overlap, delivery }: NewDeliveryRow): readonly string[] {
  return [
    ...(delivery.waits?.changes ?? []).map(({ id }) => id),
    ...(claim === undefined ? [] : [claim.hex]),
    ...replayKeys.map(({ hex }) => hex),
    ...(coalesce === undefined ? [] : [`coalesce ${coalesce.hex}`]),
    ...(overlap === undefined ? [] : [`overlap ${overlap.hex}`]),
  ];
}

/** What accepting a batch writes, decided by what is stored; no two deliveries of it have a key in common. */
class AcceptPlan {
  readonly #stored: Surroundings & { readonly mark: number };
  readonly #insertions: Insertion[] = [];
  readonly #claims: [Buffer, number, number][] = [];
  readonly #repeats = new Map<number, number>();
  readonly #opened: [Buffer, number, number][] = [];
  readonly #joined: [number, number][] = [];
  readonly #superseded: number[] = [];
  readonly #changedWaits: WaitChange[] = [];
  readonly #addedWaits: NonNullable<WaitClaim["added"]>[] = [];
  #earliest = Infinity;

  constructor(stored: Surroundings & { readonly mark: number }) {
    this.#stored = stored;
  }

  /** The keys of the runs that are not as they were, or are new and may begin. */
  get changed(): readonly number[] {
    const begun = this.#insertions.flatMap(({ seq, row, as }) =>
      as === "whole" && row.delivery.held === undefined
        ? row.runs.map((_, index) => seq * RUNS_PER_DELIVERY + index)
        : [],
    );
    return [...begun, ...this.#joined.map(([run]) => run), ...this.#superseded];
  }

  accept(row: NewDeliveryRow, seq: number): PlannedOutcome {
    const { claim, replayKeys, coalesce, overlap, tag } = row;
    const { receivedAt } = row.delivery;
    const holder = (key: KeyClaim): Holder | undefined => holdsUntil(this.#stored.holders.get(key.hex), receivedAt);
    for (const key of replayKeys) {
      const first = holder(key);
      if (first !== undefined) return this.#repeat(row, seq, first);
    }
    const first = claim && holder(claim);
    if (first !== undefined) {
      const isSame =
        first.fingerprint !== null && Buffer.compare(first.fingerprint, row.delivery.idempotency!.fingerprint) === 0;
      return isSame
        ? this.#repeat(row, seq, first)
        : { kind: "conflict", deliveryId: deliveryId(first.seq, first.tag) };
    }
    const { waits } = row.delivery;
    if (waits !== undefined && !this.#isCurrent(waits)) return { kind: "stale" };
    this.#changedWaits.push(...(waits?.changes ?? []));
    if (waits?.added !== undefined) this.#addedWaits.push(waits.added);
    this.#earliest = Math.min(this.#earliest, receivedAt);
    // The next try of one that has failed at once is a new call.
    if (row.ended !== ENDED_FAILED) {
      for (const key of claim === undefined ? replayKeys : [...replayKeys, claim]) {
        this.#claims.push([key.bytes, key.expiresAt, seq]);
      }
    }
    if (coalesce !== undefined) return this.#coalesce(row, seq);
    if (overlap !== undefined) return this.#overlap(row, seq);
    this.#insertions.push({ seq, row, as: "whole", dueAt: null, calls: null });
    return accepted(seq, tag, row);
  }

  /** Why waits were left out, by their ids. */
  async carryOut(session: Session): Promise<ReadonlyMap<string, NoRoom>> {
    if (this.#claims.length > 0) {
      await session.run(purgeClaims, this.#earliest - CLAIM_GRACE_MS, 4 * this.#claims.length);
      await session.run(claimKeys, ...columnsOf(this.#claims));
    }
    if (this.#repeats.size > 0) await session.run(countRepeats, ...columnsOf([...this.#repeats]));
    if (this.#opened.length > 0) await session.run(openCoalescing, ...columnsOf(this.#opened));
    if (this.#joined.length > 0) await session.run(joinRuns, ...columnsOf(this.#joined));
    if (this.#superseded.length > 0) {
      await session.run(skipRuns, this.#superseded, OVERLAP_LATEST_REASON);
      await endSkipped(session, this.#superseded, OVERLAP_LATEST_REASON);
    }
    const without = await changeWaits(session, { changes: this.#changedWaits, added: this.#addedWaits });
    await insertAll(session, this.#insertions);
    return without;
  }

  #isCurrent({ mark, changes }: WaitClaim): boolean {
    return mark >= this.#stored.mark && changes.every(({ id, version }) => this.#stored.waits.get(id) === version);
  }

  /** Past {@link MAX_LISTED_REPEATS} of one delivery a repeat leaves no row: a sender cannot fill the disk with them. */
  #repeat(row: NewDeliveryRow, seq: number, first: Holder): AcceptOutcome {
    const repeats = this.#repeats.get(first.seq) ?? first.repeats;
    if (repeats < MAX_LISTED_REPEATS) {
      this.#repeats.set(first.seq, repeats + 1);
      this.#insertions.push({ seq, row, as: "duplicate", of: first });
    }
    return { kind: "repeat", deliveryId: deliveryId(first.seq, first.tag), runIds: answeredRunIds(first) };
  }

  #coalesce(row: NewDeliveryRow, seq: number): AcceptOutcome {
    const { windowMs, maxWaitMs } = row.delivery.coalesce!;
    const { receivedAt } = row.delivery;
    const bytes = row.coalesce!.bytes;
    const open = this.#stored.coalescing.get(row.coalesce!.hex);
    if (open !== undefined) {
      if (receivedAt < open.opened_at) this.#opened.push([bytes, open.run, receivedAt]);
      const dueAt = dueTime(open, { receivedAt, windowMs, maxWaitMs });
      this.#joined.push([open.run, dueAt]);
      const into = { seq: Math.floor(open.run / RUNS_PER_DELIVERY), tag: open.tag };
      this.#insertions.push({ seq, row, as: "coalesced", into });
      return { kind: "coalesced", deliveryId: deliveryId(seq, row.tag), runId: runId(open.run, open.tag), dueAt };
    }
    const dueAt = receivedAt + Math.min(windowMs, maxWaitMs);
    this.#opened.push([bytes, seq * RUNS_PER_DELIVERY, receivedAt]);
    this.#insertions.push({ seq, row, as: "whole", dueAt, calls: 1 });
    return { ...accepted(seq, row.tag, row), dueAt };
  }

  #overlap(row: NewDeliveryRow, seq: number): AcceptOutcome {
    const open = this.#stored.overlapping.get(row.overlap!.hex) ?? [];
    if (row.delivery.overlap!.mode === "skip" && open.length > 0) {
      this.#insertions.push({ seq, row, as: "skipped", ended: ENDED_SKIPPED, reason: OVERLAP_SKIP_REASON });
      return { kind: "skipped", deliveryId: deliveryId(seq, row.tag), reason: OVERLAP_SKIP_REASON };
    }
    this.#insertions.push({ seq, row, as: "whole", dueAt: null, calls: null });
    const waiting = row.delivery.overlap!.mode === "skip" ? [] : open.filter(({ waits }) => waits === 1);
    if (waiting.length === 0) return accepted(seq, row.tag, row);
    this.#superseded.push(...waiting.map(({ id }) => id));
    const superseded = { runIds: waiting.map(({ id, tag }) => runId(id, tag)), reason: OVERLAP_LATEST_REASON };
    return { ...accepted(seq, row.tag, row), superseded };
  }
}

function accepted(seq: number, tag: string, { runs }: NewDeliveryRow) {
  return { kind: "accepted", deliveryId: deliveryId(seq, tag), runIds: runIds(seq, tag, runs.length) } as const;
}

/** The caller of a coalesced delivery was given the run that it became a part of. */
function answeredRunIds({ seq, tag, runs, ended, related, related_tag: relatedTag }: Holder): string[] {
  if (ended !== ENDED_COALESCED || related === null || relatedTag === null) return runIds(seq, tag, runs);
  return [runId(related * RUNS_PER_DELIVERY, relatedTag)];
}

/**
 * The due time of a run that a call has joined. A call that took its time on the way makes it no earlier. A clock that
 * was set back does not make it wait until the old time is reached: the wait begins again.
 */
function dueTime(
  open: { readonly due_at: number; readonly opened_at: number },
  { receivedAt, windowMs, maxWaitMs }: { receivedAt: number; windowMs: number; maxWaitMs: number },
): number {
  const own = receivedAt + windowMs;
  const isLate = open.due_at > own && open.due_at - own <= maxWaitMs;
  return Math.min(isLate ? open.due_at : own, Math.min(open.opened_at, receivedAt) + maxWaitMs);
}
