-- A delivery store as version 0014 wrote it. Never change this file: such files exist.
CREATE TABLE "store_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
CREATE TABLE "store_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
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
, marks BLOB, event TEXT, sender TEXT, credential TEXT, related INTEGER, related_tag TEXT, repeats INTEGER, replayed INTEGER, bytes INTEGER, resolved_at INTEGER, resolved_note TEXT, answered INTEGER, level INTEGER, chain TEXT) STRICT;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  tag TEXT NOT NULL,
  lane TEXT NOT NULL,
  kind INTEGER NOT NULL,
  state INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  outcome INTEGER,
  reason TEXT
, due_at INTEGER, expires_at INTEGER, overlap BLOB, calls INTEGER, settled_at INTEGER, summarized_at INTEGER, delivered_at INTEGER, heartbeat_at INTEGER, called_back_at INTEGER, released_at INTEGER) STRICT;
CREATE TABLE contents (
  id INTEGER PRIMARY KEY,
  spec TEXT,
  text TEXT,
  headers TEXT,
  query TEXT,
  body BLOB
, quotation INTEGER) STRICT;
CREATE TABLE attempts (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  status TEXT NOT NULL,
  error TEXT,
  reply TEXT, usage TEXT, activity TEXT,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE claims (
  key BLOB PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE counted_bytes (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        through_seq INTEGER NOT NULL,
        bytes INTEGER NOT NULL
      ) STRICT;
CREATE TABLE gathering (
        key BLOB PRIMARY KEY,
        run INTEGER NOT NULL,
        opened_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
CREATE TABLE pauses (
        scope TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
CREATE TABLE usage (
        minute INTEGER NOT NULL,
        scope TEXT NOT NULL,
        runs INTEGER NOT NULL, tokens INTEGER NOT NULL DEFAULT 0, micro_usd INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (minute, scope)
      ) STRICT, WITHOUT ROWID;
CREATE TABLE outages (
        subject TEXT PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
CREATE TABLE digests (
        block INTEGER PRIMARY KEY,
        earliest INTEGER NOT NULL,
        latest INTEGER NOT NULL,
        bits BLOB NOT NULL
      ) STRICT;
CREATE TABLE waits (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        version INTEGER NOT NULL,
        content TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0001-deliveries', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0002-marks', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0003-life', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0004-resolutions', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0005-usages', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0006-times', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0007-activities', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0008-spending', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0009-levels', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0010-releases', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0011-digests', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0012-chains', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0013-waits', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration" ("name", "timestamp") VALUES ('0014-quotations', '2026-01-02T03:04:05.678Z');
INSERT INTO "store_migration_lock" ("id", "is_locked") VALUES ('migration_lock', 0);
INSERT INTO "deliveries" ("seq", "tag", "received_at", "route", "mapping_id", "name", "runs", "ended", "reason", "claim", "fingerprint", "marks", "event", "sender", "credential", "related", "related_tag", "repeats", "replayed", "bytes", "resolved_at", "resolved_note", "answered", "level", "chain") VALUES (1, '97ccee7b68d4eb96', 1767323045678, 'github', 'push', 'GitHub', 1, NULL, NULL, NULL, NULL, X'030303030303030303030303030303034279b81cfeb2e000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "deliveries" ("seq", "tag", "received_at", "route", "mapping_id", "name", "runs", "ended", "reason", "claim", "fingerprint", "marks", "event", "sender", "credential", "related", "related_tag", "repeats", "replayed", "bytes", "resolved_at", "resolved_note", "answered", "level", "chain") VALUES (2, '6cbee026e388ca4b', 1767323045678, 'agent', NULL, 'Hook', 1, NULL, NULL, X'01010101010101010101010101010101', X'0202020202020202020202020202020202020202020202020202020202020202', X'040404040404040404040404040404044279b81cfeb2e000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "runs" ("id", "tag", "lane", "kind", "state", "steps", "outcome", "reason", "due_at", "expires_at", "overlap", "calls", "settled_at", "summarized_at", "delivered_at", "heartbeat_at", "called_back_at", "released_at") VALUES (4096, '97ccee7b68d4eb96', 'agent:main:hook:1', 1, 4, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "runs" ("id", "tag", "lane", "kind", "state", "steps", "outcome", "reason", "due_at", "expires_at", "overlap", "calls", "settled_at", "summarized_at", "delivered_at", "heartbeat_at", "called_back_at", "released_at") VALUES (8192, '6cbee026e388ca4b', 'agent:main:hook:1', 1, 5, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "contents" ("id", "spec", "text", "headers", "query", "body") VALUES (4096, '{"kind":"agent","name":"Hook","agentId":"main","sessionKey":"agent:main:hook:1","wakeMode":"now","timeoutMs":60000,"interrupted":"rerun","source":"Webhook","unsafe":false}', 'First message', '{"content-type":"application/json"}', '{}', X'666972737420626f6479');
INSERT INTO "contents" ("id", "spec", "text", "headers", "query", "body") VALUES (8192, '{"kind":"agent","name":"Hook","agentId":"main","sessionKey":"agent:main:hook:1","wakeMode":"now","timeoutMs":60000,"interrupted":"rerun","source":"Webhook","unsafe":false}', 'Look at this.', '{"content-type":"application/json"}', '{}', X'7365636f6e6420626f6479');
INSERT INTO "attempts" ("run", "number", "started_at", "ended_at", "status", "error", "reply", "usage", "activity") VALUES (8192, 1, 1767323046678, NULL, 'running', NULL, NULL, NULL, NULL);
INSERT INTO "claims" ("key", "expires_at", "seq") VALUES (X'01010101010101010101010101010101', 1767409445678, 2);
INSERT INTO "counted_bytes" ("id", "through_seq", "bytes") VALUES (1, 0, 0);
CREATE INDEX deliveries_ended ON deliveries (ended, seq) WHERE ended IS NOT NULL;
CREATE INDEX runs_not_done ON runs (state, id) WHERE state > 0;
CREATE INDEX claims_expiry ON claims (expires_at);
CREATE INDEX deliveries_marked ON deliveries (seq) WHERE marks IS NOT NULL;
CREATE INDEX deliveries_coalesced ON deliveries (related, seq) WHERE ended = 3;
CREATE INDEX deliveries_replays ON deliveries (replayed, seq) WHERE replayed IS NOT NULL;
CREATE INDEX runs_overlap ON runs (overlap, state) WHERE overlap IS NOT NULL;
CREATE UNIQUE INDEX gathering_run ON gathering (run);
CREATE INDEX deliveries_duplicates ON deliveries (related, seq) WHERE ended = 2;
CREATE INDEX deliveries_chain ON deliveries (chain, seq) WHERE chain IS NOT NULL;
CREATE INDEX waits_session ON waits (session);
CREATE VIEW whole_contents AS SELECT id, spec, iif(quotation IS NULL, text, coalesce(CAST(substr(CAST(text AS BLOB), 1, ((quotation >> 34) & 131071)) AS TEXT), '')
  || CAST(substr(body, ((quotation >> 17) & 131071) + 1, ((quotation >> 0) & 131071)) AS TEXT) || coalesce(CAST(substr(CAST(text AS BLOB), ((quotation >> 34) & 131071) + 1) AS TEXT), '')) AS text, headers, query, body FROM contents;
