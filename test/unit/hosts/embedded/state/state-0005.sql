-- The embedded gateway's state as version 0005 wrote it. Never change this file: such files exist.
CREATE TABLE "embedded_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
CREATE TABLE embedded_session (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  kept INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  active_at INTEGER NOT NULL,
  messages INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  pending_bytes INTEGER NOT NULL DEFAULT 0,
  wake_agent TEXT,
  wake_reason TEXT,
  route_channel TEXT,
  route_to TEXT
  , agent_session TEXT) STRICT;
CREATE INDEX embedded_session_active ON embedded_session (active_at);
CREATE TABLE embedded_event (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  key TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  text TEXT
  , owner_channel TEXT, owner_to TEXT) STRICT;
CREATE INDEX embedded_event_pending ON embedded_event (session) WHERE text IS NOT NULL;
CREATE TABLE embedded_message (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  run_id TEXT,
  isolated INTEGER NOT NULL,
  role TEXT NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX embedded_message_session ON embedded_message (session);
CREATE UNIQUE INDEX embedded_message_run ON embedded_message (run_id)
  WHERE isolated = 1 AND role = 'user';
CREATE TABLE embedded_outbox (
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  key TEXT NOT NULL,
  recipient TEXT NOT NULL,
  at INTEGER NOT NULL,
  state TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (channel, key)
) STRICT;
CREATE INDEX embedded_outbox_unsent ON embedded_outbox (id) WHERE state = 'pending';
CREATE TABLE embedded_transcript_bytes (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  through_id INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE embedded_approval (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  question TEXT NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  run TEXT,
  title TEXT NOT NULL,
  input TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT;
CREATE INDEX embedded_approval_question ON embedded_approval (question);
CREATE INDEX embedded_approval_waiting ON embedded_approval (seq) WHERE state = 'waiting';
CREATE INDEX embedded_event_owner ON embedded_event (session)
  WHERE text IS NOT NULL AND owner_channel IS NOT NULL;
INSERT INTO "embedded_migration" (name, timestamp) VALUES ('0001-tables', '2026-11-22T06:04:10.205Z');
INSERT INTO "embedded_migration" (name, timestamp) VALUES ('0002-transcript-bytes', '2026-11-22T06:04:10.205Z');
INSERT INTO "embedded_migration" (name, timestamp) VALUES ('0003-approvals', '2026-11-22T06:04:10.205Z');
INSERT INTO "embedded_migration" (name, timestamp) VALUES ('0004-agent-sessions', '2026-11-22T06:04:10.205Z');
INSERT INTO "embedded_migration" (name, timestamp) VALUES ('0005-owner-messages', '2026-11-22T06:04:10.205Z');
INSERT INTO "embedded_session" (id, key, kept, created_at, active_at, messages, pending, pending_bytes, wake_agent, wake_reason, route_channel, route_to, agent_session) VALUES (1, 'agent:main:main', 1, 1767323045678, 1767323045678, 2, 1, 9, 'main', 'hook:build', 'webhook', '#ops', NULL);
INSERT INTO "embedded_session" (id, key, kept, created_at, active_at, messages, pending, pending_bytes, wake_agent, wake_reason, route_channel, route_to, agent_session) VALUES (2, 'hook:build', 0, 1767323045678, 1767323045678, 2, 0, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "embedded_event" (id, session, key, at, text, owner_channel, owner_to) VALUES (1, 1, 'run_1', 1767323045678, NULL, NULL, NULL);
INSERT INTO "embedded_event" (id, session, key, at, text, owner_channel, owner_to) VALUES (2, 1, 'run_2', 1767323045679, 'It waits.', NULL, NULL);
INSERT INTO "embedded_message" (id, session, run_id, isolated, role, at, text) VALUES (1, 1, 'turn_1', 0, 'user', 1767323045678, 'What is new?');
INSERT INTO "embedded_message" (id, session, run_id, isolated, role, at, text) VALUES (2, 1, 'turn_1', 0, 'assistant', 1767323045678, 'Nothing.');
INSERT INTO "embedded_message" (id, session, run_id, isolated, role, at, text) VALUES (3, 2, 'run_1', 1, 'user', 1767323045678, 'The build failed.');
INSERT INTO "embedded_message" (id, session, run_id, isolated, role, at, text) VALUES (4, 2, 'run_1', 1, 'assistant', 1767323045678, 'I read it.');
INSERT INTO "embedded_outbox" (id, channel, key, recipient, at, state, text) VALUES (1, 'webhook', 'turn_0', '#ops', 1767323045678, 'sent', 'Good morning.');
INSERT INTO "embedded_outbox" (id, channel, key, recipient, at, state, text) VALUES (2, 'webhook', 'turn_1', '#ops', 1767323045678, 'pending', 'Nothing.');
INSERT INTO "embedded_transcript_bytes" (id, through_id, bytes) VALUES (1, 0, 0);
