import type { DatabaseSync } from "node:sqlite";
import { MAX_LISTED_REPEATS, staleWaits } from "../../delivery-store.ts";
import { type AcceptOutcome, OVERLAP_LATEST_REASON, OVERLAP_SKIP_REASON } from "../../new-delivery.ts";
import type { NoRoom } from "../../wait-store.ts";
import { ENDED_COALESCED, ENDED_FAILED, ENDED_SKIPPED, RUNS_PER_DELIVERY } from "../codes.ts";
import { deliveryId, type DeliveryKey, runId, runIds } from "../public-id.ts";
import { storedReplayKeys, unpackKey, unpackReplayKeys } from "../replay-keys.ts";
import { type AcceptExtras, type AcceptRow, AT, type CallGroup } from "./accept-row.ts";
import type { ClaimOperations, Holder } from "./claims.ts";
import { type CoalesceOperations, type JoinedRun, overlapOperations } from "./coalesce-and-overlap.ts";
import { insertOperations, type InsertOperations, NO_OWNED_KEYS, type OwnedKeys } from "./insert.ts";
import type { ReplayKeyMemory } from "./replay-key-memory.ts";
import type { WaitChanges } from "./waits.ts";

/** The outcome of an acceptance; `undefined`: the delivery was stored, and its runs are queued. */
export type AcceptResult =
  | undefined
  /** The delivery that has the idempotency key or a replay key. */
  | ({ readonly kind: "repeat" } & Omit<Holder, "fingerprint">)
  | ({ readonly kind: "conflict" } & Pick<Holder, "seq" | "tag">)
  | ({ readonly kind: "coalesced" } & JoinedRun)
  | { readonly kind: "coalescing"; readonly dueAt: number }
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "stale" }
  | { readonly kind: "without-wait"; readonly noRoom: NoRoom }
  /** Ids and tags of the runs that gave way alternate. */
  | { readonly kind: "superseding"; readonly runs: readonly (number | string)[]; readonly reason: string };

/** The operations that accepting shares with others. */
export interface AcceptDependencies {
  readonly claims: ClaimOperations;
  readonly replayKeys: ReplayKeyMemory;
  readonly coalescing: CoalesceOperations;
  readonly waits: WaitChanges;
}

/**
 * Prepares the acceptance of a delivery with its runs, its claim and its replay keys: a repeat is recognized first,
 * then coalescing or overlap is decided. One that has failed at once claims nothing.
 */
export function acceptOperation(
  database: DatabaseSync,
  { claims, replayKeys: memory, coalescing: gathering, waits }: AcceptDependencies,
): (row: AcceptRow) => AcceptResult {
  const insert = insertOperations(database);
  const recordRepeat = repeatOperation(database, insert);
  const overlaps = overlapOperations(database);

  function repeat(row: AcceptRow, holder: Holder): AcceptResult {
    recordRepeat(row, holder);
    const { fingerprint: _, ...first } = holder;
    return { kind: "repeat", ...first };
  }

  /** Under a key that is taken the same request is a repeat, and another one is refused. */
  function underKey(row: AcceptRow, holder: Holder): AcceptResult {
    if (isSame(holder.fingerprint, row[AT.fingerprint]!)) return repeat(row, holder);
    return { kind: "conflict", seq: holder.seq, tag: holder.tag };
  }

  /** A delivery that has failed at once may be a repeat; it claims no key, so that the next try is a new call. */
  function fail(row: AcceptRow, extras: AcceptExtras): AcceptResult {
    const [, , receivedAt] = row;
    const marked = memory.holder(unpackReplayKeys(storedReplayKeys(row[AT.replayKeys])), receivedAt);
    if (marked !== undefined) return repeat(row, marked);
    const key = row[AT.claimKey];
    const holder = key === null ? undefined : claims.holder(claims.storedKey(key), receivedAt);
    if (holder !== undefined) return underKey(row, holder);
    insert.withExtras(row, NO_OWNED_KEYS, extras);
    return undefined;
  }

  function coalesce(row: AcceptRow, owned: OwnedKeys, extras: AcceptExtras, group: CoalesceGroup): AcceptResult {
    const { windowMs, maxWaitMs } = group;
    const call = { key: unpackKey(group.key), receivedAt: row[2], windowMs, maxWaitMs };
    const joined = gathering.join(call);
    if (joined !== undefined) {
      insert.coalesced(row, owned, { seq: Math.floor(joined.run / RUNS_PER_DELIVERY), tag: joined.tag }, extras);
      return { kind: "coalesced", ...joined };
    }
    const dueAt = gathering.open(call, row[0] * RUNS_PER_DELIVERY);
    insert.withExtras(row, owned, extras, { dueAt, overlap: null, calls: 1 });
    return { kind: "coalescing", dueAt };
  }

  function overlap(
    row: AcceptRow,
    owned: OwnedKeys,
    extras: AcceptExtras,
    { kind, key: packed }: CallGroup,
  ): AcceptResult {
    const key = unpackKey(packed);
    if (kind === "skip" && overlaps.isOpen(key)) {
      insert.skipped(row, owned, { ...extras, ended: ENDED_SKIPPED, reason: OVERLAP_SKIP_REASON });
      return { kind: "skipped", reason: OVERLAP_SKIP_REASON };
    }
    const runs = kind === "skip" ? NO_RUNS : overlaps.giveWay(key);
    insert.withExtras(row, owned, extras, { dueAt: null, overlap: key, calls: null });
    return runs.length === 0 ? undefined : { kind: "superseding", runs, reason: OVERLAP_LATEST_REASON };
  }

  return (row) => {
    const [seq, , receivedAt] = row;
    const extras = row[AT.extras];
    const writes = extras === null ? null : extras.waits;
    // Before anything is claimed: the call is held against the waits again, and then handed in again.
    if (writes !== null && !waits.areCurrent(writes.changes)) return { kind: "stale" };
    if (extras !== null && extras.ended === ENDED_FAILED) return fail(row, extras);
    const stored = storedReplayKeys(row[AT.replayKeys]);
    const marks = unpackReplayKeys(stored);
    const marked = memory.claim(marks, { seq, receivedAt });
    if (marked !== undefined) return repeat(row, marked);
    const key = row[AT.claimKey];
    const claim = key === null ? null : claims.storedKey(key);
    if (claim !== null) {
      const holder = claims.claim(claim, row[AT.expiresAt], seq, receivedAt);
      if (holder !== undefined) {
        memory.release(marks, seq);
        return underKey(row, holder);
      }
    }
    const owned: OwnedKeys = { claim, replayKeys: stored };
    if (extras === null) {
      insert.plain(row, owned);
      return undefined;
    }
    const { group } = extras;
    if (group?.kind === "coalesce") return coalesce(row, owned, extras, group);
    if (group !== null) return overlap(row, owned, extras, group);
    insert.withExtras(row, owned, extras);
    const added = writes === null ? "added" : waits.carryOut(writes);
    return added === "added" ? undefined : { kind: "without-wait", noRoom: added };
  };
}

type CoalesceGroup = Extract<CallGroup, { kind: "coalesce" }>;

const NO_RUNS: readonly never[] = [];

function isSame(left: Uint8Array | null, right: Uint8Array): boolean {
  return left !== null && Buffer.compare(left, right) === 0;
}

/**
 * Prepares what is recorded of a repeat: a row that says which delivery was sent again. Past
 * {@link MAX_LISTED_REPEATS} of one delivery it is nothing, so that a sender cannot fill the disk that way.
 */
function repeatOperation(database: DatabaseSync, insert: InsertOperations): (repeat: AcceptRow, first: Holder) => void {
  const count = database.prepare(`
    UPDATE deliveries SET repeats = coalesce(repeats, 0) + 1
    WHERE seq = ? AND coalesce(repeats, 0) < ${MAX_LISTED_REPEATS}`);
  return (repeat, first) => {
    if (count.run(first.seq).changes !== 0) insert.duplicate(repeat, first);
  };
}

/** Turns the writer thread's result into the outcome of `accept`; `runs` is the delivery's number of runs. */
export function acceptOutcome(key: DeliveryKey, runs: number, result: NonNullable<AcceptResult>): AcceptOutcome {
  const id = deliveryId(key.seq, key.tag);
  const accepted = { kind: "accepted", deliveryId: id, runIds: runIds(key.seq, key.tag, runs) } as const;
  switch (result.kind) {
    case "repeat":
      return { kind: "repeat", deliveryId: deliveryId(result.seq, result.tag), runIds: answeredRunIds(result) };
    case "conflict":
      return { kind: "conflict", deliveryId: deliveryId(result.seq, result.tag) };
    case "coalesced":
      return { kind: "coalesced", deliveryId: id, runId: runId(result.run, result.tag), dueAt: result.dueAt };
    case "coalescing":
      return { ...accepted, dueAt: result.dueAt };
    case "stale":
      throw staleWaits();
    case "without-wait":
      return { ...accepted, noRoom: result.noRoom };
    case "skipped":
      return { kind: "skipped", deliveryId: id, reason: result.reason };
    case "superseding":
      return { ...accepted, superseded: { runIds: supersededIds(result.runs), reason: result.reason } };
  }
}

/** The caller of a coalesced delivery was given the run that it became a part of. */
function answeredRunIds(first: Extract<AcceptResult, { kind: "repeat" }>): string[] {
  if (first.ended !== ENDED_COALESCED || first.related === null || first.related_tag === null) {
    return runIds(first.seq, first.tag, first.runs);
  }
  return [runId(first.related * RUNS_PER_DELIVERY, first.related_tag)];
}

function supersededIds(runs: readonly (number | string)[]): string[] {
  const ids: string[] = [];
  for (let at = 0; at < runs.length; at += 2) ids.push(runId(Number(runs[at]), String(runs[at + 1])));
  return ids;
}
