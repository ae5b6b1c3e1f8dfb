import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { checkServer } from "./check-server.ts";
import { ANSWER_TIMEOUT_MS, connect } from "./connect.ts";
import { isSessionEnd } from "./errors.ts";
import { CHANNEL } from "../operations/arrivals.ts";
import { ANSWER_MARGIN_MS } from "../../shared-store.ts";
import { Session, statement, command } from "./statement.ts";
import type { WriteOperation } from "./write-group.ts";

/** Names the lock among the advisory locks of a database: "Reve" as a number. */
export const LOCK_CLASS = 0x52657665;
const LOCK = `${LOCK_CLASS}, 0`;

/** True of the rows of `pg_locks` that hold a lock of this database with that number. */
export function ofLock(number: string): string {
  return `locktype = 'advisory' AND classid = ${LOCK_CLASS} AND objid = ${number} AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
}

/**
 * The server ends a session that is silent for so long, and its locks with it: another gateway need not wait longer
 * for one whose machine has gone.
 */
const SESSION_TIMEOUT_MS = ANSWER_MARGIN_MS + 1_000;
/** How often the server looks whether a gateway that waits for a lock is still there: its own locks end with it. */
const CHECK_MS = 250;
/**
 * Every write finds its rows by an index, with one plan for good. The server keeps plans that it makes while the tables
 * are small: with others, writes cost a hundred times more at 40,000 stored deliveries, until the tables are analyzed.
 * Planning again and again costs 0.3 ms of each run.
 */
const PLANS = `SET plan_cache_mode = force_generic_plan; SET jit = off;
  SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off`;
/** The words of the client when a query has no answer in time. */
const READ_TIMEOUT = "Query read timeout";
/** A gateway that has just ended, or died with its machine, has lost its lock by then. */
const LOCK_WAIT_MS = 8_000;
const LOCK_RETRY_MS = 100;
const GOODBYE_MS = 1_000;

export interface OwnerOptions {
  readonly url: string;
  /** Names this process; made when the store is opened. */
  readonly instance: string;
  /** True: the same process had the lock before. */
  readonly isBack?: boolean;
  /** In the place of a connection that this process has lost. */
  readonly isReopened?: boolean;
  /** True: it is opened also while another gateway has the lock, and {@link takeLead} asks for that. */
  readonly isBeside?: boolean;
  /** Another gateway has left something, with that payload. */
  readonly onArrival?: (payload: string) => void;
}

/** Another gateway has, or has had, the lock. */
export class ReplacedError extends Error {
  override readonly name = "ReplacedError";
}

export function newInstance(): string {
  return randomUUID();
}

const tryLock = statement({ taken: "integer" }, `SELECT pg_try_advisory_lock(${LOCK})::int AS taken`);
const tryLockForTransaction = statement(
  { taken: "integer" },
  `SELECT pg_try_advisory_xact_lock(${LOCK})::int AS taken`,
);

/** Keeps gateways from the database until the transaction ends; false when one uses it. */
export async function lockForTransaction(session: Session): Promise<boolean> {
  return (await session.first(tryLockForTransaction))?.taken === 1;
}

const readHolders = statement({ count: "integer" }, `SELECT count(*)::int AS count FROM pg_locks WHERE ${ofLock("0")}`);

/** True while a gateway has the lock; asking costs no transaction with a number of its own. */
export async function isLeadHeld(session: Session): Promise<boolean> {
  return (await session.first(readHolders))!.count > 0;
}

const readOwner = statement(
  { instance: "text", host: "text", pid: "integer", since: "text" },
  `SELECT instance, host, pid, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS since FROM reveille.owner`,
);
const writeOwner = command(`
  INSERT INTO reveille.owner (one, instance, host, pid, since) VALUES (true, $1, $2, $3, clock_timestamp())
  ON CONFLICT (one) DO UPDATE SET instance = excluded.instance, host = excluded.host, pid = excluded.pid, since = excluded.since`);
/** Takes the lock if it is free, for as long as the connection lasts; false while another gateway has it. */
export const takeLead: WriteOperation<string, boolean> = {
  keysOf: () => ["lead"],
  async run(session, instances) {
    if ((await session.first(tryLock))?.taken !== 1) return instances.map(() => false);
    await beginToLead(session, instances[0]!);
    return instances.map(() => true);
  },
};

async function beginToLead(session: Session, instance: string): Promise<void> {
  await session.script(`LISTEN ${CHANNEL}`);
  await session.run(writeOwner, instance, hostname(), process.pid);
}

/** The server may not have noticed yet that an earlier connection of this process is gone. */
const endHolder = command(`
  SELECT pg_terminate_backend(pid) FROM pg_locks WHERE ${ofLock("0")}`);
/** After so long, no gateway asks whether a transaction was committed. */
const FORGET_COMMITS = "DELETE FROM reveille.commits WHERE at < now() - interval '30 days'";
/** Waits for a transaction of an earlier connection that the server has not ended yet. */
const readCommit = statement({ number: "integer" }, "SELECT number FROM reveille.commits WHERE writer = $1 FOR UPDATE");
/** Numbers the transactions of this process. */
let transactions = 0;
const nothing = command("SELECT");

/** The one connection of a gateway that writes: a lock of the database that it holds, it holds as long as it is open. */
export class OwnerConnection {
  readonly #client: Client;
  readonly #session: Session;
  readonly #instance: string;
  /** Resolves with the reason when the connection ends by itself. */
  readonly ended: Promise<Error>;
  #committing: number | undefined;
  #isEnded = false;

  private constructor(client: Client, { onArrival, instance }: Pick<OwnerOptions, "onArrival" | "instance">) {
    this.#client = client;
    this.#instance = instance;
    this.#session = new Session(client);
    const { promise, resolve } = Promise.withResolvers<Error>();
    const end = (error: Error): void => {
      this.#isEnded = true;
      resolve(error);
    };
    client.on("error", end);
    client.on("notification", ({ payload = "" }) => onArrival?.(payload));
    client.on("end", () => {
      end(new Error("The server has ended the connection."));
    });
    this.ended = promise;
  }

  /** Checks the server and takes the lock, unless the gateway is opened beside another; rejects with a {@link ReplacedError} when another gateway has it. */
  static async open(options: OwnerOptions): Promise<OwnerConnection> {
    const client = await connect(options.url, { purpose: "owner", answerTimeoutMs: ANSWER_TIMEOUT_MS });
    const connection = new OwnerConnection(client, options);
    try {
      await connection.#prepare(options);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** The transaction whose commit was asked for and not answered. */
  get committing(): number | undefined {
    return this.#committing;
  }

  async transaction(work: (session: Session) => Promise<void>): Promise<void> {
    const number = ++transactions;
    try {
      await this.#session.script(`BEGIN; INSERT INTO reveille.commits VALUES ('${this.#instance}', ${number}, now())
        ON CONFLICT (writer) DO UPDATE SET number = excluded.number, at = excluded.at`);
      await work(this.#session);
    } catch (error) {
      // Where nothing answers, it would wait as long again: the server ends the transaction with the connection.
      if (!this.isLost(error)) await this.#session.script("ROLLBACK").catch(() => {});
      throw error;
    }
    this.#committing = number;
    await this.#session.script("COMMIT");
    this.#committing = undefined;
  }

  /** Keeps the session from its end; rejects when the server does not answer. */
  async beat(): Promise<void> {
    await this.#session.run(nothing);
  }

  /** True when what failed with this error leaves nothing to go on with. */
  isLost(error: unknown): boolean {
    return this.#isEnded || isSessionEnd(error) || (error instanceof Error && error.message === READ_TIMEOUT);
  }

  /** Of the last transaction of an earlier connection of this gateway. Rejects when the server does not say. */
  async wasCommitted(transaction: number): Promise<boolean> {
    return (await this.#session.first(readCommit, this.#instance))?.number === transaction;
  }

  /** A server whose machine is gone never answers the goodbye. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.destroy(), GOODBYE_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  destroy(): void {
    this.#client.connection.stream.destroy();
  }

  async #prepare({ instance, isBack = false, isBeside = false, isReopened = false }: OwnerOptions): Promise<void> {
    const session = this.#session;
    await session.script(`SET idle_session_timeout = ${SESSION_TIMEOUT_MS};
      SET idle_in_transaction_session_timeout = ${SESSION_TIMEOUT_MS}; SET statement_timeout = '60s'; ${PLANS}`);
    // A server on a system that cannot look refuses this: there, one that waits is found gone when its wait ends.
    await session.script(`SET client_connection_check_interval = ${CHECK_MS}`).catch(() => {});
    await checkServer(session, this.#client, { isRunning: isReopened });
    // The row of a writer is there before its first transaction: one can wait for what that makes of it.
    await session.script(`${FORGET_COMMITS}; INSERT INTO reveille.commits VALUES ('${instance}', 0, now())
      ON CONFLICT (writer) DO NOTHING`);
    if (isBeside && !isBack) return;
    if (isBack) await this.#assertSame(instance);
    const until = performance.now() + LOCK_WAIT_MS;
    while ((await session.first(tryLock))?.taken !== 1) {
      if (isBack) await session.run(endHolder);
      else if (performance.now() >= until) throw new ReplacedError(heldBy(await session.first(readOwner)));
      await sleep(LOCK_RETRY_MS);
    }
    // Another one may have come and gone between the look and the lock.
    if (isBack) await this.#assertSame(instance);
    await beginToLead(session, instance);
  }

  async #assertSame(instance: string): Promise<void> {
    const owner = await this.#session.first(readOwner);
    if (owner?.instance !== instance) {
      throw new ReplacedError(`While this gateway had no connection to PostgreSQL, ${heldBy(owner)}`);
    }
  }
}

function heldBy(owner: { readonly host: string; readonly pid: number; readonly since: string } | undefined): string {
  const who = owner === undefined ? "" : ` (on ${owner.host}, process ${owner.pid}, since ${owner.since} UTC)`;
  return `another gateway uses the database${who}; one gateway at a time carries out the runs.`;
}
