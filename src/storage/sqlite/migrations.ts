/** The tables of the delivery store, from its first version on. */
import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * `deliveries` and `runs` are narrow, since lists read many of their rows and every step after
 * acceptance rewrites a run's page. What is large and never changes is in `contents`: the row of a
 * run has its spec, and the row of a delivery's first run (or of no run) has the request too, so
 * that accepting the usual delivery of one run inserts three rows.
 *
 * All keys grow with time. `claims` alone has random keys; a row exists only when a caller gave an
 * idempotency key.
 */
const first: Migration = {
  async up(database) {
    await sql`
      CREATE TABLE deliveries (
        seq INTEGER PRIMARY KEY,
        tag TEXT NOT NULL,
        received_at INTEGER NOT NULL,
        route TEXT NOT NULL,
        mapping_id TEXT,
        name TEXT NOT NULL,
        runs INTEGER NOT NULL,
        ended INTEGER,
        reason TEXT,
        claim BLOB,
        fingerprint BLOB
      ) STRICT`.execute(database);
    await sql`CREATE INDEX deliveries_ended ON deliveries (ended, seq) WHERE ended IS NOT NULL`.execute(database);
    await sql`
      CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        tag TEXT NOT NULL,
        lane TEXT NOT NULL,
        kind INTEGER NOT NULL,
        state INTEGER NOT NULL,
        steps INTEGER NOT NULL,
        outcome INTEGER,
        reason TEXT
      ) STRICT`.execute(database);
    await sql`CREATE INDEX runs_not_done ON runs (state, id) WHERE state > 0`.execute(database);
    // The body comes last: what stands before it is read without following its overflow pages.
    await sql`
      CREATE TABLE contents (
        id INTEGER PRIMARY KEY,
        spec TEXT,
        text TEXT,
        headers TEXT,
        query TEXT,
        body BLOB
      ) STRICT`.execute(database);
    await sql`
      CREATE TABLE attempts (
        run INTEGER NOT NULL,
        number INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        status TEXT NOT NULL,
        error TEXT,
        reply TEXT,
        PRIMARY KEY (run, number)
      ) STRICT, WITHOUT ROWID`.execute(database);
    await sql`
      CREATE TABLE claims (
        key BLOB PRIMARY KEY,
        expires_at INTEGER NOT NULL,
        seq INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`.execute(database);
    await sql`CREATE INDEX claims_expiry ON claims (expires_at)`.execute(database);
  },
};

/** What a copy of a request is recognized by: the record of what {@link "./mark-memory"} holds. */
const marks: Migration = {
  async up(database) {
    await sql`ALTER TABLE deliveries ADD COLUMN marks BLOB`.execute(database);
    await sql`CREATE INDEX deliveries_marked ON deliveries (seq) WHERE marks IS NOT NULL`.execute(database);
  },
};

/**
 * The life of a delivery. `related` is the delivery that it repeats or is a part of (then `ended` says so)
 * or, when it is neither, replays. `replayed` is the delivery that it is a replay of, whatever became of it.
 * `repeats` counts the copies of a delivery that are listed. `bytes` is what it counts for; NULL, and counted
 * as nothing, where it is older than this version. A run has `overlap` while it is open, and `calls` when it
 * gathers or has gathered: how many it stands for.
 */
const life: Migration = {
  async up(database) {
    for (const column of [
      "event TEXT",
      "sender TEXT",
      "credential TEXT",
      "related INTEGER",
      "related_tag TEXT",
      "repeats INTEGER",
      "replayed INTEGER",
      "bytes INTEGER",
    ]) {
      await sql`ALTER TABLE deliveries ADD COLUMN ${sql.raw(column)}`.execute(database);
    }
    await sql`CREATE INDEX deliveries_coalesced ON deliveries (related, seq) WHERE ended = 3`.execute(database);
    await sql`CREATE INDEX deliveries_replays ON deliveries (replayed, seq) WHERE replayed IS NOT NULL`.execute(
      database,
    );
    // One row: what all deliveries up to a seq count for together.
    await sql`
      CREATE TABLE counted_bytes (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        through_seq INTEGER NOT NULL,
        bytes INTEGER NOT NULL
      ) STRICT`.execute(database);
    await sql`INSERT INTO counted_bytes VALUES (1, 0, 0)`.execute(database);
    for (const column of ["due_at INTEGER", "expires_at INTEGER", "overlap BLOB", "calls INTEGER"]) {
      await sql`ALTER TABLE runs ADD COLUMN ${sql.raw(column)}`.execute(database);
    }
    await sql`CREATE INDEX runs_overlap ON runs (overlap, state) WHERE overlap IS NOT NULL`.execute(database);
    // One row for each run that gathers calls.
    await sql`
      CREATE TABLE gathering (
        key BLOB PRIMARY KEY,
        run INTEGER NOT NULL,
        opened_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`.execute(database);
    await sql`CREATE UNIQUE INDEX gathering_run ON gathering (run)`.execute(database);
    await sql`
      CREATE TABLE pauses (
        scope TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`.execute(database);
    await sql`
      CREATE TABLE usage (
        minute INTEGER NOT NULL,
        scope TEXT NOT NULL,
        runs INTEGER NOT NULL,
        PRIMARY KEY (minute, scope)
      ) STRICT, WITHOUT ROWID`.execute(database);
    await sql`
      CREATE TABLE outages (
        subject TEXT PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`.execute(database);
  },
};

export const storeMigrations: Readonly<Record<string, Migration>> = {
  "0001-deliveries": first,
  "0002-marks": marks,
  "0003-life": life,
};
