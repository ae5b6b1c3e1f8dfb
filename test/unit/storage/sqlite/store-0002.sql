-- A delivery store as version 0002 wrote it. Never change this file: such files exist.
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
, marks BLOB) STRICT;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  tag TEXT NOT NULL,
  lane TEXT NOT NULL,
  kind INTEGER NOT NULL,
  state INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  outcome INTEGER,
  reason TEXT
) STRICT;
CREATE TABLE contents (
  id INTEGER PRIMARY KEY,
  spec TEXT,
  text TEXT,
  headers TEXT,
  query TEXT,
  body BLOB
) STRICT;
CREATE TABLE attempts (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  status TEXT NOT NULL,
  error TEXT,
  reply TEXT,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE claims (
  key BLOB PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_ended ON deliveries (ended, seq) WHERE ended IS NOT NULL;
CREATE INDEX runs_not_done ON runs (state, id) WHERE state > 0;
CREATE INDEX claims_expiry ON claims (expires_at);
CREATE INDEX deliveries_marked ON deliveries (seq) WHERE marks IS NOT NULL;
INSERT INTO "store_migration" VALUES ('0001-deliveries', '2026-11-22T06:04:10.205Z');
INSERT INTO "store_migration" VALUES ('0002-marks', '2026-11-22T06:04:10.206Z');
INSERT INTO "store_migration_lock" VALUES ('migration_lock', 0);
INSERT INTO "deliveries" VALUES (1, '97ccee7b68d4eb96', 1767323045678, 'github', 'push', 'GitHub', 1, NULL, NULL, NULL, NULL, x'030303030303030303030303030303034279b81cfeb2e000');
INSERT INTO "deliveries" VALUES (2, '6cbee026e388ca4b', 1767323045678, 'agent', NULL, 'Hook', 1, NULL, NULL, x'01010101010101010101010101010101', x'0202020202020202020202020202020202020202020202020202020202020202', x'040404040404040404040404040404044279b81cfeb2e000');
INSERT INTO "runs" VALUES (4096, '97ccee7b68d4eb96', 'agent:main:hook:1', 1, 4, 0, NULL, NULL);
INSERT INTO "runs" VALUES (8192, '6cbee026e388ca4b', 'agent:main:hook:1', 1, 5, 0, NULL, NULL);
INSERT INTO "contents" VALUES (4096, '{"kind":"agent","name":"Hook","agentId":"main","sessionKey":"agent:main:hook:1","wakeMode":"now","timeoutMs":60000,"interrupted":"rerun","source":"Webhook","unsafe":false}', 'First message', '{"content-type":"application/json"}', '{}', x'666972737420626f6479');
INSERT INTO "contents" VALUES (8192, '{"kind":"agent","name":"Hook","agentId":"main","sessionKey":"agent:main:hook:1","wakeMode":"now","timeoutMs":60000,"interrupted":"rerun","source":"Webhook","unsafe":false}', 'Look at this.', '{"content-type":"application/json"}', '{}', x'7365636f6e6420626f6479');
INSERT INTO "attempts" VALUES (8192, 1, 1767323046678, NULL, 'running', NULL, NULL);
INSERT INTO "claims" VALUES (x'01010101010101010101010101010101', 1767409445678, 2);
