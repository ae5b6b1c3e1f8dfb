import type { HandedTurn, SharedTurns, TurnOffer, TurnPlace, TurnsSeen } from "../shared-store.ts";
import { parseRunId, runId, type RunKey } from "../sqlite/public-id.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { LOCK_CLASS, ofLock } from "./engine/owner-connection.ts";
import { command, type Session, statement } from "./engine/statement.ts";
import type { WriteOperation } from "./engine/write-group.ts";
import { CHANNEL } from "./operations/arrivals.ts";

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
const readPlaces = statement(
  { number: "integer", offer: "text" },
  `SELECT number, offer FROM reveille.places WHERE ${IS_HELD} ORDER BY number`,
);
const TURN_ROW = { run: "integer", tag: "text", attempt: "integer" } as const;
const readTaken = statement(
  { ...TURN_ROW, request: "text", ends: "integer" },
  "SELECT run, tag, attempt, request, ends::int AS ends FROM reveille.turns WHERE place = $1 AND outcome IS NULL",
);
const readEnded = statement(TURN_ROW, "SELECT run, tag, attempt FROM reveille.turns WHERE outcome IS NOT NULL");
const readTurn = statement(
  { place: "integer", outcome: "text?" },
  "SELECT place, outcome FROM reveille.turns WHERE run = $1 AND attempt = $2",
);
const insertTurn = command(`
  WITH handed AS (
    INSERT INTO reveille.turns (run, tag, attempt, place, request) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (run, attempt) DO UPDATE SET place = excluded.place, request = excluded.request, ends = false, outcome = NULL)
  SELECT pg_notify('${TURNS_CHANNEL}', $4::int::text)`);
const endTurn = command(`
  WITH ended AS (UPDATE reveille.turns SET ends = true WHERE run = $1 AND attempt = $2 RETURNING place)
  SELECT pg_notify('${TURNS_CHANNEL}', place::text) FROM ended`);
const leaveOutcome = command(`
  WITH ended AS (
    UPDATE reveille.turns SET outcome = $4
    WHERE run = $1 AND attempt = $2 AND place = $3 AND outcome IS NULL RETURNING run)
  SELECT pg_notify('${CHANNEL}', '${OUTCOME}') FROM ended`);

const forgetTurns = command(`DELETE FROM reveille.turns AS t WHERE NOT EXISTS (
  SELECT 1 FROM reveille.attempts AS a WHERE a.run = t.run AND a.number = t.attempt AND a.status = 'running')`);

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

/** Turns on their way between the gateways on a database. Each gateway writes over the connection that holds its place. */
export class PostgresTurns implements SharedTurns {
  readonly #database: PostgresDatabase;
  #place: number | undefined;
  #offered = "";
  /** One at a time: a place that nobody looks at would be given turns. */
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
    const seen = await this.#database.read(async (session) => {
      const taken = await session.rows(readTaken, own);
      const ended = await session.rows(readEnded);
      // Last: a place that is held now was held when its turns were read.
      return { taken, ended, places: await session.rows(readPlaces) };
    });
    const isHeld = seen.places.some(({ number }) => number === own);
    if (!isHeld) this.#place = undefined;
    return {
      own: isHeld ? own : undefined,
      places: seen.places.flatMap(placeOf),
      taken: isHeld
        ? seen.taken.map(({ request, ends, ...row }) => ({ ...turnOf(row), request, ends: ends === 1 }))
        : [],
      ended: seen.ended.map(turnOf),
    };
  }

  async withdraw(): Promise<void> {
    const place = this.#place;
    this.#place = undefined;
    if (place !== undefined) await this.#write((session) => session.run(leavePlace, place));
  }

  async hand(
    turn: HandedTurn,
    { place, request }: { readonly place: number; readonly request: string },
  ): Promise<void> {
    const { run, tag } = keyOf(turn);
    await this.#write((session) => session.run(insertTurn, run, tag, turn.attempt, place, request));
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

  /** Forgets turns whose attempts are no longer under way. */
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

function turnOf({ run, tag, attempt }: { run: number; tag: string; attempt: number }): HandedTurn {
  return { runId: runId(run, tag), attempt };
}

/** What a later version may have written is no place for this one. */
function placeOf({ number, offer }: { number: number; offer: string }): TurnPlace[] {
  try {
    const { alike, agents, channels, turns } = JSON.parse(offer) as Partial<TurnOffer>;
    const hasLists = Array.isArray(agents) && Array.isArray(channels);
    if (typeof alike !== "string" || !hasLists || !Number.isSafeInteger(turns)) return [];
    return [{ number, offer: { alike, agents, channels, turns: turns! } }];
  } catch {
    return [];
  }
}
