-- A delivery store as version 0001 wrote it. Never change this file: such files exist.
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
) STRICT;
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
INSERT INTO "store_migration" VALUES ('0001-deliveries', '2026-11-21T09:52:12.247Z');
INSERT INTO "store_migration_lock" VALUES ('migration_lock', 0);
INSERT INTO "deliveries" VALUES (1, '97ccee7b68d4eb96', 1767323045678, 'github', 'push', 'GitHub', 2, NULL, NULL, x'01010101010101010101010101010101', x'0202020202020202020202020202020202020202020202020202020202020202');
INSERT INTO "deliveries" VALUES (2, '6cbee026e388ca4b', 1767323045678, 'wake', NULL, 'Hook', 0, 0, 'not listed', NULL, NULL);
INSERT INTO "deliveries" VALUES (3, 'fa8e223127bade95', 1767323045678, 'agent', NULL, 'Hook', 1, NULL, NULL, NULL, NULL);
INSERT INTO "runs" VALUES (4096, '97ccee7b68d4eb96', 'agent:main:hook:1', 1, 0, 3, 2, NULL);
INSERT INTO "runs" VALUES (4097, '97ccee7b68d4eb96', 'agent:main:main', 0, 3, 0, NULL, 'a person decides');
INSERT INTO "runs" VALUES (12288, 'fa8e223127bade95', 'agent:main:hook:1', 1, 2, 0, NULL, 'no model');
INSERT INTO "contents" VALUES (4096, '{"kind":"agent","name":"Hook","agentId":"main","sessionKey":"agent:main:hook:1","wakeMode":"now","timeoutMs":60000,"interrupted":"rerun","source":"Webhook","unsafe":false,"delivery":{"unresolved":"no recipient yet"}}', 'First message', '{"x-event":"push"}', '{"q":"1"}', x'666972737420626f6479');
INSERT INTO "contents" VALUES (4097, '{"kind":"wake","name":"Hook","agentId":"main","sessionKey":"agent:main:main","mode":"now","source":"Webhook","unsafe":false}', 'Wake text', NULL, NULL, NULL);
INSERT INTO "contents" VALUES (8192, NULL, NULL, '{"content-type":"application/json"}', '{}', x'7b226d657373616765223a224c6f6f6b20617420746869732e227d');
INSERT INTO "contents" VALUES (12288, '{"kind":"agent","name":"Hook","agentId":"main","sessionKey":"agent:main:hook:1","wakeMode":"now","timeoutMs":60000,"interrupted":"rerun","source":"Webhook","unsafe":false}', 'Look at this.', '{"content-type":"application/json"}', '{}', x'7468697264');
INSERT INTO "attempts" VALUES (4096, 1, 1767323046678, 1767323047678, 'ok', NULL, 'The reply.');
INSERT INTO "claims" VALUES (x'01010101010101010101010101010101', 1767409445678, 1);
