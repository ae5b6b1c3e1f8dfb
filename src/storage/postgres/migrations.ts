/** The tables of the delivery store in PostgreSQL. A migration that a release has is never changed. */

/**
 * The same tables as in SQLite, in a schema of their own. `claims` has idempotency keys and replay keys; a
 * delivery's number comes from a sequence, so that it is never given out again.
 */
const first: readonly string[] = [
  `CREATE SEQUENCE reveille.delivery_seq`,
  `CREATE TABLE reveille.deliveries (
    seq bigint PRIMARY KEY,
    tag text NOT NULL,
    received_at bigint NOT NULL,
    route text NOT NULL,
    mapping_id text,
    name text NOT NULL,
    event text,
    sender text,
    level int,
    chain text COLLATE "C",
    credential text,
    answered int,
    runs int NOT NULL,
    fingerprint bytea,
    bytes bigint NOT NULL,
    ended int,
    reason text,
    related bigint,
    related_tag text,
    replayed bigint,
    repeats int NOT NULL DEFAULT 0,
    resolved_at bigint,
    resolved_note text
  )`,
  `CREATE INDEX deliveries_ended ON reveille.deliveries (ended, seq) WHERE ended IS NOT NULL`,
  `CREATE INDEX deliveries_related ON reveille.deliveries (related, seq) WHERE ended IN (2, 3)`,
  `CREATE INDEX deliveries_chain ON reveille.deliveries (chain, seq) WHERE chain IS NOT NULL`,
  `CREATE INDEX deliveries_replays ON reveille.deliveries (replayed, seq) WHERE replayed IS NOT NULL`,
  `CREATE TABLE reveille.runs (
    id bigint PRIMARY KEY,
    tag text NOT NULL,
    lane text NOT NULL,
    kind int NOT NULL,
    state int NOT NULL,
    steps int NOT NULL DEFAULT 0,
    outcome int,
    reason text,
    due_at bigint,
    expires_at bigint,
    overlap bytea,
    calls int,
    settled_at bigint,
    summarized_at bigint,
    delivered_at bigint,
    heartbeat_at bigint,
    called_back_at bigint,
    released_at bigint
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX runs_not_done ON reveille.runs (state, id) WHERE state > 0`,
  `CREATE INDEX runs_overlap ON reveille.runs (overlap) WHERE overlap IS NOT NULL`,
  `CREATE TABLE reveille.contents (
    id bigint PRIMARY KEY,
    spec text,
    text text,
    headers text,
    query text,
    body bytea
  )`,
  `CREATE TABLE reveille.attempts (
    run bigint NOT NULL,
    number int NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    status text NOT NULL,
    error text,
    reply text,
    usage text,
    activity text,
    PRIMARY KEY (run, number)
  )`,
  `CREATE TABLE reveille.claims (
    key bytea PRIMARY KEY,
    expires_at bigint NOT NULL,
    seq bigint NOT NULL
  )`,
  `CREATE INDEX claims_expiry ON reveille.claims (expires_at)`,
  `CREATE INDEX claims_delivery ON reveille.claims (seq)`,
  `CREATE TABLE reveille.coalescing (
    key bytea PRIMARY KEY,
    run bigint NOT NULL UNIQUE,
    opened_at bigint NOT NULL
  )`,
  `CREATE TABLE reveille.pauses (
    scope text PRIMARY KEY,
    reason text NOT NULL,
    since bigint NOT NULL
  )`,
  `CREATE TABLE reveille.usage (
    minute bigint NOT NULL,
    scope text NOT NULL,
    runs bigint NOT NULL,
    tokens bigint NOT NULL,
    micro_usd bigint NOT NULL,
    PRIMARY KEY (minute, scope)
  )`,
  `CREATE TABLE reveille.outages (
    subject text PRIMARY KEY,
    since bigint NOT NULL
  )`,
  // What all deliveries up to a number count for together.
  `CREATE TABLE reveille.counted_bytes (
    one boolean PRIMARY KEY CHECK (one),
    through_seq bigint NOT NULL,
    bytes bigint NOT NULL
  )`,
  `INSERT INTO reveille.counted_bytes VALUES (true, 0, 0)`,
  // The gateway that has, or had last, the lock of the database.
  `CREATE TABLE reveille.owner (
    one boolean PRIMARY KEY CHECK (one),
    instance text NOT NULL,
    host text NOT NULL,
    pid int NOT NULL,
    since timestamptz NOT NULL
  )`,
];

/** Runs that a gateway has accepted, moved or ended and that another one carries out, which takes the rows away. */
const arrivals: readonly string[] = [`CREATE TABLE reveille.arrivals (run bigint NOT NULL)`];

/** What the runs of all gateways carry, so that one recognizes what those of another have caused. */
const gatewayKey: readonly string[] = [
  `CREATE TABLE reveille.gateway_key (one boolean PRIMARY KEY CHECK (one), key bytea NOT NULL)`,
];

export const MIGRATIONS: Readonly<Record<string, readonly string[]>> = {
  "0001-deliveries": first,
  "0002-arrivals": arrivals,
  "0003-gateway-key": gatewayKey,
};
