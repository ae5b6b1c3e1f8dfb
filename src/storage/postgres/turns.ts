import type { HandedTo, HandedTurn, SharedTurns, TakenTurn, TurnOffer, TurnPlace, TurnsSeen } from "../shared-store.ts";
import type { RowOf, RowShape } from "../sqlite/engine/row-query.ts";
import { QUEUED } from "../sqlite/codes.ts";
import { parseRunId, runId, type RunKey } from "../sqlite/public-id.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { notFound } from "./engine/errors.ts";
import { LOCK_CLASS, ofLock } from "./engine/owner-connection.ts";
import { command, type Session, statement } from "./engine/statement.ts";
import type { WriteOperation } from "./engine/write-group.ts";
import { CHANNEL } from "./operations/arrivals.ts";
import { columnsOf } from "./operations/insert.ts";
import { beginAttempt } from "./operations/runs.ts";

/** The gateways that take turns listen there; the payload is the number of a place. */
const TURNS_CHANNEL = "reveille_turns";
/** To the gateway with the runs: a turn has its outcome. */
const OUTCOME = "outcome";

/** True of a place whose connection is open: the server releases its lock with it. */
const IS_HELD = `EXISTS (SELECT 1 FROM pg_locks WHERE ${ofLock("number::bigint::oid")})`;

const newPlace = statement({ number: "integer" }, "INSERT INTO reveille.places (offer) VALUES ($1) RETURNING number");
const holdPlace = command(`SELECT pg_advisory_lock(${LOCK_CLASS}, $1)`);
const changeOffer = command("UPDATE reveille.places SET offer = $2 WHERE number = $1");
const forgetPlaces = command(`DELETE FROM reveille.places WHERE NOT ${IS_HELD}`);
const leavePlace = command(`
  WITH gone AS (DELETE FROM reveille.places WHERE number = $1 RETURNING number)
  SELECT pg_advisory_unlock(${LOCK_CLASS}, number) FROM gone`);
const SEEN_ROW = {
  number: "integer?",
  offer: "text?",
  run: "integer?",
  tag: "text?",
  attempt: "integer?",
  request: "text?",
  ends: "integer?",
} as const satisfies RowShape;
type SeenRow = RowOf<typeof SEEN_ROW>;
/**
 * The places that are held, the turns of one of them, and the turns with an outcome, in one message. Locks are read as
 * they are, and all else as it was before: a place that is held was held when its turns were read.
 */
const readAll = statement(
  SEEN_ROW,
  `SELECT number, offer, NULL::bigint AS run, NULL AS tag, NULL::int AS attempt, NULL AS request, NULL::int AS ends
   FROM reveille.places WHERE ${IS_HELD}
   UNION ALL
   SELECT NULL, NULL, run, tag, attempt, CASE WHEN outcome IS NULL THEN request END, ends::int
   FROM reveille.turns WHERE outcome IS NOT NULL OR place = $1
   ORDER BY number`,
);
const readTurn = statement(
  { place: "integer", outcome: "text?" },
  "SELECT place, outcome FROM reveille.turns WHERE run = $1 AND attempt = $2",
);
/** One that is handed over again, since the answer was lost, may have its outcome by now. */
const insertTurns = command(`
  WITH handed AS (
    INSERT INTO reveille.turns AS t (run, tag, attempt, place, request)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::text[])
    ON CONFLICT (run, attempt) DO UPDATE SET place = excluded.place, request = excluded.request, ends = false,
      outcome = CASE WHEN t.place = excluded.place THEN t.outcome END)
  SELECT pg_notify('${TURNS_CHANNEL}', place::text) FROM unnest($4::int[]) AS place`);
const endTurn = command(`
  WITH ended AS (UPDATE reveille.turns SET ends = true WHERE run = $1 AND attempt = $2 RETURNING place)
  SELECT pg_notify('${TURNS_CHANNEL}', place::text) FROM ended`);
const leaveOutcome = command(`
  WITH ended AS (
    UPDATE reveille.turns SET outcome = $4
    WHERE run = $1 AND attempt = $2 AND place = $3 AND outcome IS NULL RETURNING run)
  SELECT pg_notify('${CHANNEL}', '${OUTCOME}') FROM ended`);

const IS_OPEN = `EXISTS (SELECT 1 FROM reveille.runs AS r WHERE r.id = t.run AND r.state >= ${QUEUED})`;
/** The end of an attempt is never recorded when its run was canceled while no gateway waited for the turn. */
const forgetTurns = command(`DELETE FROM reveille.turns AS t WHERE NOT ${IS_OPEN} OR NOT EXISTS (
  SELECT 1 FROM reveille.attempts AS a WHERE a.run = t.run AND a.number = t.attempt AND a.status = 'running')`);
const forgetRun = command(`
  WITH gone AS (DELETE FROM reveille.turns AS t WHERE run = $1 AND NOT ${IS_OPEN} RETURNING place)
  SELECT pg_notify('${TURNS_CHANNEL}', place::text) FROM gone`);

type Step = (session: Session) => Promise<unknown>;

/** Steps of one transaction, one after the other. */
const carryOut: WriteOperation<Step, unknown> = {
  keysOf: () => [],
  async run(session, steps) {
    const results: unknown[] = [];
    for (const step of steps) results.push(await step(session));
    return results;
  },
};

/** A turn, and the gateway that it is handed to. */
interface Handing extends HandedTo {
  readonly key: RunKey;
  readonly attempt: number;
}

/** With one commit an attempt begins and is at the gateway that carries it out. */
const hand: WriteOperation<Handing, boolean> = {
  keysOf: ({ key }) => [key.run],
  async run(session, items) {
    const changes = items.map(({ key, attempt, startedAt }) => ({ key, values: [attempt, startedAt] }));
    const begun = await beginAttempt.run(session, changes);
    const handed = items.filter((_, index) => begun[index]);
    const rows = handed.map(({ key, attempt, place, request }) => [key.run, key.tag, attempt, place, request]);
    if (rows.length > 0) await session.run(insertTurns, ...columnsOf(rows));
    return begun;
  },
};

/** Turns on their way between the gateways on a database. Each gateway writes over the connection that holds its place. */
export class PostgresTurns implements SharedTurns {
  readonly #database: PostgresDatabase;
  #place: number | undefined;
  #offered = "";
  /** One at a time: a place that no one looks at would be given turns. */
  #offering: Promise<number> | undefined;
  #listener: (() => void) | undefined;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /** A notification has come: of an outcome, or for the place with that number. */
  notify(payload: string): void {
    if (payload === OUTCOME || payload === String(this.#place)) this.#listener?.();
  }

  async look(offer: TurnOffer): Promise<TurnsSeen> {
    const own = await (this.#offering ??= this.#offer(JSON.stringify(offer)).finally(
      () => (this.#offering = undefined),
    ));
    const rows = await this.#database.read((session) => session.rows(readAll, own));
    const places = rows.flatMap(placeOf);
    const isHeld = places.some(({ number }) => number === own);
    if (!isHeld) this.#place = undefined;
    return {
      own: isHeld ? own : undefined,
      places,
      taken: isHeld ? rows.flatMap(takenOf) : [],
      ended: rows.flatMap(endedOf),
    };
  }

  async withdraw(): Promise<void> {
    const place = this.#place;
    this.#place = undefined;
    if (place !== undefined) await this.#write((session) => session.run(leavePlace, place));
  }

  async hand(turn: HandedTurn, to: HandedTo): Promise<void> {
    const isHanded = await this.#database.write(hand, { key: keyOf(turn), attempt: turn.attempt, ...to });
    if (!isHanded) throw notFound(turn.runId);
  }

  find(turn: HandedTurn): Promise<{ readonly place: number; readonly outcome: string | null } | undefined> {
    return this.#database.read((session) => session.first(readTurn, keyOf(turn).run, turn.attempt));
  }

  async end(turn: HandedTurn): Promise<void> {
    await this.#write((session) => session.run(endTurn, keyOf(turn).run, turn.attempt));
  }

  async leave(turn: HandedTurn, outcome: string): Promise<void> {
    const place = this.#place;
    if (place === undefined) return;
    await this.#write((session) => session.run(leaveOutcome, keyOf(turn).run, turn.attempt, place, outcome));
  }

  async forget(id: string): Promise<void> {
    const { run } = parseRunId(id)!;
    await this.#write((session) => session.run(forgetRun, run));
  }

  /** Forgets turns whose attempts are no longer under way, or whose runs are settled: no gateway waits for them yet. */
  async forgetOld(): Promise<void> {
    await this.#write((session) => session.run(forgetTurns));
  }

  /** Takes a place, unless this gateway has one, and says there what it takes. */
  async #offer(offer: string): Promise<number> {
    const known = this.#place;
    if (known !== undefined && offer === this.#offered) return known;
    const place = await this.#write(async (session) => {
      if (known !== undefined && (await session.run(changeOffer, known, offer)) > 0) return known;
      await session.run(forgetPlaces);
      const { number } = (await session.first(newPlace, offer))!;
      await session.run(holdPlace, number);
      await session.script(`LISTEN ${TURNS_CHANNEL}`);
      return number;
    });
    this.#offered = offer;
    return (this.#place = place);
  }

  async #write<Result>(step: (session: Session) => Promise<Result>): Promise<Result> {
    return (await this.#database.write(carryOut, step)) as Result;
  }
}

function keyOf({ runId: id }: HandedTurn): RunKey {
  return parseRunId(id)!;
}

/** Turns without an outcome alone have a request. */
function takenOf({ run, tag, attempt, request, ends }: SeenRow): TakenTurn[] {
  return run === null || request === null ? [] : [{ ...turnOf(run, tag!, attempt!), request, ends: ends === 1 }];
}

function endedOf({ run, tag, attempt, request }: SeenRow): HandedTurn[] {
  return run === null || request !== null ? [] : [turnOf(run, tag!, attempt!)];
}

function turnOf(run: number, tag: string, attempt: number): HandedTurn {
  return { runId: runId(run, tag), attempt };
}

/** What a later version may have written is no place for this one. */
function placeOf({ number, offer }: SeenRow): TurnPlace[] {
  if (number === null) return [];
  try {
    const { alike, agents, channels, turns } = JSON.parse(offer!) as Partial<TurnOffer>;
    const hasLists = Array.isArray(agents) && Array.isArray(channels);
    if (typeof alike !== "string" || !hasLists || !Number.isSafeInteger(turns)) return [];
    return [{ number, offer: { alike, agents, channels, turns: turns! } }];
  } catch {
    return [];
  }
}
