/** The tables of the delivery store, from its first version on. */
import type { Migration } from "./engine/module.ts";
import { WHOLE_TEXT } from "./quotation.ts";
import { WHOLE_SPEC } from "./short-spec.ts";

/**
 * `deliveries` and `runs` are narrow, since lists read many of their rows and every step after
 * acceptance rewrites a run's page. What is large and never changes is in `contents`: the row of a
 * run has its spec, and the row of a delivery's first run (or of no run) has the request too, so
 * that accepting the usual delivery of one run inserts three rows.
 *
 * All keys grow with time. `claims` alone has random keys; a row exists only when a caller gave an
 * idempotency key.
 */
const first: Migration = [
  `
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
      ) STRICT`,
  `CREATE INDEX deliveries_ended ON deliveries (ended, seq) WHERE ended IS NOT NULL`,
  `
      CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        tag TEXT NOT NULL,
        lane TEXT NOT NULL,
        kind INTEGER NOT NULL,
        state INTEGER NOT NULL,
        steps INTEGER NOT NULL,
        outcome INTEGER,
        reason TEXT
      ) STRICT`,
  `CREATE INDEX runs_not_done ON runs (state, id) WHERE state > 0`,
  // The body comes last: what stands before it is read without following its overflow pages.
  `
      CREATE TABLE contents (
        id INTEGER PRIMARY KEY,
        spec TEXT,
        text TEXT,
        headers TEXT,
        query TEXT,
        body BLOB
      ) STRICT`,
  `
      CREATE TABLE attempts (
        run INTEGER NOT NULL,
        number INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        status TEXT NOT NULL,
        error TEXT,
        reply TEXT,
        PRIMARY KEY (run, number)
      ) STRICT, WITHOUT ROWID`,
  `
      CREATE TABLE claims (
        key BLOB PRIMARY KEY,
        expires_at INTEGER NOT NULL,
        seq INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX claims_expiry ON claims (expires_at)`,
];

/** The keys that identify copies of a request: the record of {@link "./operations/replay-key-memory"}. */
const marks: Migration = [
  `ALTER TABLE deliveries ADD COLUMN marks BLOB`,
  `CREATE INDEX deliveries_marked ON deliveries (seq) WHERE marks IS NOT NULL`,
];

/**
 * The life of a delivery. `related` is the delivery that it repeats or is a part of (then `ended` says so)
 * or, when it is neither, replays. `replayed` is the delivery that it is a replay of, whatever its outcome.
 * `repeats` counts the copies of a delivery that are listed. `bytes` is what it counts for; NULL, and counted
 * as nothing, where it is older than this version. A run has `overlap` while it is open, and `calls` when it
 * coalesces or has coalesced: the number of its calls.
 */
const life: Migration = [
  ...[
    "event TEXT",
    "sender TEXT",
    "credential TEXT",
    "related INTEGER",
    "related_tag TEXT",
    "repeats INTEGER",
    "replayed INTEGER",
    "bytes INTEGER",
  ].map((column) => `ALTER TABLE deliveries ADD COLUMN ${column}`),
  `CREATE INDEX deliveries_coalesced ON deliveries (related, seq) WHERE ended = 3`,
  `CREATE INDEX deliveries_replays ON deliveries (replayed, seq) WHERE replayed IS NOT NULL`,
  // One row: what all deliveries up to a seq count for together.
  `
      CREATE TABLE counted_bytes (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        through_seq INTEGER NOT NULL,
        bytes INTEGER NOT NULL
      ) STRICT`,
  `INSERT INTO counted_bytes VALUES (1, 0, 0)`,
  ...["due_at INTEGER", "expires_at INTEGER", "overlap BLOB", "calls INTEGER"].map(
    (column) => `ALTER TABLE runs ADD COLUMN ${column}`,
  ),
  `CREATE INDEX runs_overlap ON runs (overlap, state) WHERE overlap IS NOT NULL`,
  // One row for each run that coalesces calls.
  `
      CREATE TABLE gathering (
        key BLOB PRIMARY KEY,
        run INTEGER NOT NULL,
        opened_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`,
  `CREATE UNIQUE INDEX gathering_run ON gathering (run)`,
  `
      CREATE TABLE pauses (
        scope TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`,
  `
      CREATE TABLE usage (
        minute INTEGER NOT NULL,
        scope TEXT NOT NULL,
        runs INTEGER NOT NULL,
        PRIMARY KEY (minute, scope)
      ) STRICT, WITHOUT ROWID`,
  `
      CREATE TABLE outages (
        subject TEXT PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`,
];

/** A failed delivery that a person has marked as resolved has the time, and the note if there was one. */
const resolutions: Migration = ["resolved_at INTEGER", "resolved_note TEXT"].map(
  (column) => `ALTER TABLE deliveries ADD COLUMN ${column}`,
);

/** What a model counted for an attempt, as JSON. */
const usages: Migration = ["ALTER TABLE attempts ADD COLUMN usage TEXT"];

/**
 * What an operator reads of a delivery besides its outcome: what its caller was answered, when its runs ended and
 * when each step after the reply was carried out. Repeats are found from their first.
 */
const times: Migration = [
  "ALTER TABLE deliveries ADD COLUMN answered INTEGER",
  ...["settled_at", "summarized_at", "delivered_at", "heartbeat_at", "called_back_at"].map(
    (column) => `ALTER TABLE runs ADD COLUMN ${column} INTEGER`,
  ),
  "CREATE INDEX deliveries_duplicates ON deliveries (related, seq) WHERE ended = 2",
];

/** What an agent did in an attempt, as JSON. */
const activities: Migration = ["ALTER TABLE attempts ADD COLUMN activity TEXT"];

/** What runs have used besides their number. */
const spending: Migration = ["tokens", "micro_usd"].map(
  (column) => `ALTER TABLE usage ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`,
);

/** The level of the actor: its place in `LEVELS`. */
const levels: Migration = ["ALTER TABLE deliveries ADD COLUMN level INTEGER"];

/** When a person let a held reply leave. */
const releases: Migration = ["ALTER TABLE runs ADD COLUMN released_at INTEGER"];

/** What searches pass over: see {@link "./readers/delivery-digest"}. Blocks are digested behind the calls. */
const digests: Migration = [
  `
      CREATE TABLE digests (
        block INTEGER PRIMARY KEY,
        earliest INTEGER NOT NULL,
        latest INTEGER NOT NULL,
        bits BLOB NOT NULL
      ) STRICT`,
];

/** `<first delivery> <depth>` of a delivery that a run of the gateway caused. */
const chains: Migration = [
  "ALTER TABLE deliveries ADD COLUMN chain TEXT",
  "CREATE INDEX deliveries_chain ON deliveries (chain, seq) WHERE chain IS NOT NULL",
];

/** Sessions that wait for events. */
const waits: Migration = [
  `
      CREATE TABLE waits (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        version INTEGER NOT NULL,
        content TEXT NOT NULL
      ) STRICT, WITHOUT ROWID`,
  "CREATE INDEX waits_session ON waits (session)",
];

/**
 * A text that quotes the body of its delivery is stored without the quotation: see {@link "./quotation"}. Readers take
 * it from the view, whole.
 */
const quotations: Migration = [
  "ALTER TABLE contents ADD COLUMN quotation INTEGER",
  `CREATE VIEW whole_contents AS SELECT id, spec, ${WHOLE_TEXT} AS text, headers, query, body FROM contents`,
];

/** A spec may be stored without what nearly all have: see {@link "./short-spec"}. The view has it whole. */
const shortSpecs: Migration = [
  "DROP VIEW whole_contents",
  `CREATE VIEW whole_contents AS SELECT id, ${WHOLE_SPEC} AS spec, ${WHOLE_TEXT} AS text, headers, query, body
  FROM contents`,
];

export const storeMigrations: Readonly<Record<string, Migration>> = {
  "0001-deliveries": first,
  "0002-marks": marks,
  "0003-life": life,
  "0004-resolutions": resolutions,
  "0005-usages": usages,
  "0006-times": times,
  "0007-activities": activities,
  "0008-spending": spending,
  "0009-levels": levels,
  "0010-releases": releases,
  "0011-digests": digests,
  "0012-chains": chains,
  "0013-waits": waits,
  "0014-quotations": quotations,
  "0015-short-specs": shortSpecs,
};
