import type { Clock, HeartbeatRequest, SystemEvent } from "../../core/host.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import { rowQuery } from "../../storage/sqlite/engine/row-query.ts";
import { OPENCLAW_LIMITS } from "./sqlite-state-module.ts";
import type { BeginRunOutcome, EnqueueOutcome } from "../shared/state-operations.ts";
import { enqueueEvent, shortKey, writeState } from "../shared/write-state.ts";

/** A system event that no turn has taken yet. */
export interface QueuedEvent {
  readonly id: number;
  /** The idempotency key, as it is stored. */
  readonly key: string;
  readonly text: string;
}

/** A run whose end was never reported, with the host's session in which it was. */
export interface UnendedRun {
  readonly id: string;
  readonly session: string;
}

/** Sessions that are taken up again at the start. */
const MAX_SESSIONS = 10_000;
const MAX_OPEN_RUNS = 10_000;

/**
 * The adapter's memory across restarts, because the host has none. Writes resolve when they would
 * survive a power failure and reject with a {@link HostError}; reads see every write that has resolved.
 */
export class OpenClawState {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #reads: ReturnType<typeof prepareReads>;

  constructor(database: SqliteDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#reads = prepareReads(database);
  }

  /** Stores the event; one with a key that was stored before is dropped. */
  enqueueEvent(event: SystemEvent): Promise<Exclude<EnqueueOutcome, "full">> {
    const { sessionKey, text } = event;
    return enqueueEvent(event, (key) => this.#write("enqueue", { sessionKey, key, text, at: this.#clock.now() }));
  }

  async consumeEvents(session: string, ids: readonly number[]): Promise<void> {
    await this.#write("consume", { session, ids });
  }

  /** The oldest events of a session that wait, `after` an id. */
  pendingEvents(session: string, { after = 0, limit }: { after?: number; limit: number }): readonly QueuedEvent[] {
    return this.#reads.events.all(session, after, limit).map((row) => ({ ...row }));
  }

  /** The session in which the event with this key waits; `undefined` when a turn has taken it. */
  waitingEvent(key: string): { readonly id: number; readonly session: string } | undefined {
    return this.#reads.waitingEvent.get(shortKey(key));
  }

  /** Sessions in which events wait. */
  waitingSessions(): readonly string[] {
    return this.#reads.sessions.all().map(({ session }) => session);
  }

  /** Remembers that a turn was asked for, until the session's events are consumed. */
  async requestTurn({ sessionKey, agentId, reason }: HeartbeatRequest): Promise<void> {
    await this.#write("requestTurn", { sessionKey, agentId, reason, at: this.#clock.now() });
  }

  /** Turns that were asked for and whose events still wait. */
  requestedTurns(): readonly HeartbeatRequest[] {
    return this.#reads.turns.all().map((row) => ({ ...row }));
  }

  /** `repeated` when a run with this id has begun before. */
  beginRun(id: string, session: string): Promise<BeginRunOutcome> {
    return this.#write("beginRun", { id, session, at: this.#clock.now() });
  }

  async undoRun(id: string): Promise<void> {
    await this.#write("undoRun", { id });
  }

  async endRun(id: string): Promise<void> {
    await this.#write("endRun", { id, at: this.#clock.now() });
  }

  unendedRuns(): readonly UnendedRun[] {
    return this.#reads.openRuns.all().map((row) => ({ ...row }));
  }

  /** Runs that ended so long ago that their sessions are kept no longer. */
  oldRuns({ limit }: { limit: number }): readonly UnendedRun[] {
    const before = this.#clock.now() - OPENCLAW_LIMITS.sessionTtlMs;
    return this.#reads.oldRuns.all(before, limit).map((row) => ({ ...row }));
  }

  async forgetSession(id: string): Promise<void> {
    await this.#write("forgetSession", { id });
  }

  /** The number of parts of the message that the channel took; `undefined` for one that was never sent. */
  sentParts(channel: string, key: string): number | undefined {
    return this.#reads.sent.get(channel, shortKey(key))?.parts;
  }

  async recordSent(channel: string, key: string, parts: number): Promise<void> {
    await this.#write("recordSent", { channel, key: shortKey(key), parts, at: this.#clock.now() });
  }

  #write<Result>(operation: string, args: object): Promise<Result> {
    return writeState<Result>(this.#database, `openclaw.${operation}`, args, "The state of Reveille");
  }
}

const RUN = { id: "text", session: "text" } as const;

function prepareReads({ reader }: SqliteDatabase) {
  return {
    events: rowQuery(
      reader,
      { id: "integer", key: "text", text: "text" },
      "SELECT id, key, text FROM openclaw_event WHERE session = ? AND id > ? AND text IS NOT NULL ORDER BY id LIMIT ?",
    ),
    waitingEvent: rowQuery(
      reader,
      { id: "integer", session: "text" },
      "SELECT id, session FROM openclaw_event WHERE key = ? AND text IS NOT NULL",
    ),
    sessions: rowQuery(
      reader,
      { session: "text" },
      `SELECT DISTINCT session FROM openclaw_event WHERE text IS NOT NULL LIMIT ${MAX_SESSIONS}`,
    ),
    turns: rowQuery(
      reader,
      { sessionKey: "text", agentId: "text", reason: "text" },
      `SELECT session AS sessionKey, agent AS agentId, reason FROM openclaw_turn LIMIT ${MAX_SESSIONS}`,
    ),
    openRuns: rowQuery(
      reader,
      RUN,
      `SELECT id, session FROM openclaw_run WHERE ended_at IS NULL LIMIT ${MAX_OPEN_RUNS}`,
    ),
    // The runs of a persistent session count as one: it is as old as its latest run.
    oldRuns: rowQuery(
      reader,
      RUN,
      `SELECT id, session FROM openclaw_run AS old WHERE ended_at < ?1 AND session <> '' AND NOT EXISTS (
         SELECT 1 FROM openclaw_run AS later
         WHERE later.session = old.session AND (later.ended_at IS NULL OR later.ended_at >= ?1)) LIMIT ?2`,
    ),
    sent: rowQuery(reader, { parts: "integer" }, "SELECT parts FROM openclaw_sent WHERE channel = ? AND key = ?"),
  };
}
