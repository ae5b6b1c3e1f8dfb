/** Reads sessions: for people over the API, and for the turns of the heartbeat. */
import type { TextRights } from "../../../core/agent-rights.ts";
import type { DatabaseSync } from "node:sqlite";
import type { ChannelTarget, HeartbeatRequest } from "../../../core/host.ts";
import { rowQuery, type RowOf, type RowShape } from "../../../storage/sqlite/engine/row-query.ts";
import { cutPage, pageSize, readCursor, type PageQuery } from "./page-cursor.ts";
import type { MessageRole } from "./operations.ts";

/** One session in a list. Times are ISO 8601 UTC. */
export interface SessionSummary {
  readonly key: string;
  readonly createdAt: string;
  /** Time at which its transcript last grew; its creation when it never did. */
  readonly lastActivityAt: string;
  readonly messages: number;
  readonly pendingEvents: number;
}

/** One message of a transcript. */
export interface SessionMessage {
  readonly id: number;
  /** `error` is a note for the owner on why a run gave no reply. */
  readonly role: MessageRole;
  readonly text: string;
  /** ISO 8601 UTC. */
  readonly time: string;
  /** The run, or the turn of the session, that it belongs to. */
  readonly runId: string | null;
}

/** A system event that waits for the session's next turn. */
export interface PendingEvent {
  readonly id: number;
  readonly text: string;
  /** ISO 8601 UTC. */
  readonly time: string;
}

/** What the owner wrote in one chat and no turn has taken. */
export interface OwnerMessages {
  readonly from: ChannelTarget;
  /** In order, at least one. */
  readonly messages: readonly PendingEvent[];
}

const SESSION_ROW = {
  id: "integer",
  key: "text",
  createdAt: "integer",
  activeAt: "integer",
  messages: "integer",
  pending: "integer",
} as const satisfies RowShape;
type SessionRow = RowOf<typeof SESSION_ROW>;

const TEXT_ROW = { id: "integer", at: "integer", text: "text" } as const satisfies RowShape;
type TextRow = RowOf<typeof TEXT_ROW>;

const SESSION_COLUMNS = `id, key, created_at AS createdAt, active_at AS activeAt, messages, pending`;
const BY_KEY = "session = (SELECT id FROM embedded_session WHERE key = ?)";

/** Prepares the queries on the read-only connection and returns what uses them. */
export function prepareSessionReads(reader: DatabaseSync) {
  const newest = rowQuery(
    reader,
    SESSION_ROW,
    `SELECT ${SESSION_COLUMNS} FROM embedded_session ORDER BY active_at DESC, id DESC LIMIT ?`,
  );
  const older = rowQuery(
    reader,
    SESSION_ROW,
    `SELECT ${SESSION_COLUMNS} FROM embedded_session WHERE (active_at, id) < (?, ?)
     ORDER BY active_at DESC, id DESC LIMIT ?`,
  );
  const messages = rowQuery(
    reader,
    { ...TEXT_ROW, role: "text", runId: "text?" },
    `SELECT id, at, text, role, run_id AS runId FROM embedded_message WHERE ${BY_KEY} AND id > ? ORDER BY id LIMIT ?`,
  );
  const conversation = rowQuery(
    reader,
    { ...TEXT_ROW, role: "text" },
    `SELECT id, at, text, role FROM embedded_message WHERE ${BY_KEY} AND isolated = 0 AND text <> '' ORDER BY id DESC LIMIT ?`,
  );
  const answeredRuns = rowQuery(
    reader,
    { id: "integer", at: "integer", text: "text", prompt: "text" },
    `SELECT reply.id AS id, reply.at AS at, reply.text AS text, prompt.text AS prompt
     FROM embedded_message AS reply
     JOIN embedded_message AS prompt
       ON prompt.run_id = reply.run_id AND prompt.isolated = 1 AND prompt.role = 'user'
     WHERE reply.${BY_KEY}
       AND reply.isolated = 1 AND reply.role = 'assistant'
     ORDER BY reply.id DESC LIMIT ?`,
  );
  const events = rowQuery(
    reader,
    TEXT_ROW,
    `SELECT id, at, text FROM embedded_event WHERE ${BY_KEY} AND text IS NOT NULL AND id > ? ORDER BY id LIMIT ?`,
  );
  const ownerMessages = rowQuery(
    reader,
    { ...TEXT_ROW, channel: "text", to: "text" },
    `SELECT id, at, text, owner_channel AS channel, owner_to AS "to" FROM embedded_event
     WHERE ${BY_KEY} AND text IS NOT NULL AND owner_channel IS NOT NULL ORDER BY id LIMIT ?`,
  );
  const otherEvents = rowQuery(
    reader,
    TEXT_ROW,
    `SELECT id, at, text FROM embedded_event
     WHERE ${BY_KEY} AND text IS NOT NULL AND owner_channel IS NULL ORDER BY id LIMIT ?`,
  );
  const wakes = rowQuery(
    reader,
    { sessionKey: "text", agentId: "text", reason: "text" },
    `SELECT key AS sessionKey, wake_agent AS agentId, wake_reason AS reason FROM embedded_session
     WHERE wake_agent IS NOT NULL AND pending > 0 ORDER BY id`,
  );
  const agentSession = rowQuery(
    reader,
    { id: "text?" },
    "SELECT agent_session AS id FROM embedded_session WHERE key = ?",
  );
  const rights = rowQuery(reader, { rights: "text?" }, "SELECT rights FROM embedded_session WHERE key = ?");
  const route = rowQuery(
    reader,
    { channel: "text", to: "text" },
    `SELECT route_channel AS channel, route_to AS "to" FROM embedded_session
     WHERE key = ? AND route_channel IS NOT NULL`,
  );

  return {
    /** Newest activity first. */
    list(query: PageQuery): { sessions: readonly SessionSummary[]; nextCursor: string | null } {
      const size = pageSize(query);
      const cursor = readCursor(query, 2);
      const rows = cursor === undefined ? newest.all(size + 1) : older.all(...cursor, size + 1);
      const { page, nextCursor } = cutPage(rows, size, (row) => [row.activeAt, row.id]);
      return { sessions: page.map(summarize), nextCursor };
    },

    /** Oldest first, runs and turns as they were stored. */
    messages(key: string, query: PageQuery): { messages: readonly SessionMessage[]; nextCursor: string | null } {
      const size = pageSize(query);
      const [after = 0] = readCursor(query, 1) ?? [];
      const rows = messages.all(key, after, size + 1);
      const { page, nextCursor } = cutPage(rows, size, (row) => [row.id]);
      return {
        messages: page.map(({ id, role, text, at, runId }) => ({
          id,
          role: role as MessageRole,
          text,
          time: iso(at),
          runId,
        })),
        nextCursor,
      };
    },

    /** Oldest first. */
    pendingEvents(key: string, query: PageQuery): { events: readonly PendingEvent[]; nextCursor: string | null } {
      const size = pageSize(query);
      const [after = 0] = readCursor(query, 1) ?? [];
      const { page, nextCursor } = cutPage(events.all(key, after, size + 1), size, (row) => [row.id]);
      return { events: page.map(pending), nextCursor };
    },

    /** The oldest pending events that fit, without messages of the owner; at least one when there is one. */
    turnEvents(key: string, options: { limit: number; maxChars: number }): readonly PendingEvent[] {
      return takeWhileFits(otherEvents.iterate(key, options.limit), options.maxChars).map(pending);
    },

    /** The owner's oldest messages that wait, all from one chat; at least one when there is one. */
    ownerMessages(key: string, options: { limit: number; maxChars: number }): OwnerMessages | undefined {
      const rows = takeWhileFits(ownerMessages.iterate(key, options.limit), options.maxChars);
      const [first] = rows;
      if (first === undefined) return undefined;
      const { channel, to } = first;
      const other = rows.findIndex((row) => row.channel !== channel || row.to !== to);
      return { from: { channel, to }, messages: rows.slice(0, other === -1 ? rows.length : other).map(pending) };
    },

    /** The latest messages of the session's own turns that fit, oldest first, runs left out. */
    conversation(
      key: string,
      options: { limit: number; maxChars: number },
    ): readonly { role: "user" | "assistant"; text: string }[] {
      const rows = takeWhileFits(conversation.iterate(key, options.limit), options.maxChars).toReversed();
      const begin = rows.findIndex((row) => row.role === "user");
      return begin === -1
        ? []
        : rows.slice(begin).map(({ role, text }) => ({ role: role as "user" | "assistant", text }));
    },

    /** The latest turns of runs that were answered and fit, oldest first; one that is too long by itself is left out. */
    runTurns(
      key: string,
      options: { limit: number; maxChars: number },
    ): readonly { role: "user" | "assistant"; text: string }[] {
      const turns: { role: "user" | "assistant"; text: string }[][] = [];
      let chars = 0;
      for (const { prompt, text } of answeredRuns.iterate(key, options.limit)) {
        chars += prompt.length + text.length;
        if (chars > options.maxChars) break;
        turns.push([
          { role: "user", text: prompt },
          { role: "assistant", text },
        ]);
      }
      return turns.toReversed().flat();
    },

    /** Turns that were asked for and whose events still wait. */
    requestedTurns(): readonly HeartbeatRequest[] {
      return wakes.all().map((row) => ({ ...row }));
    },

    /** What the texts that the session has read leave of its agent's rights. */
    rights: (key: string): readonly TextRights[] =>
      (rights.get(key)?.rights ?? "")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as TextRights),

    agentSession: (key: string): string | undefined => agentSession.get(key)?.id ?? undefined,

    route(key: string): ChannelTarget | undefined {
      const row = route.get(key);
      return row && { channel: row.channel, to: row.to };
    },
  };
}

export type SessionReads = ReturnType<typeof prepareSessionReads>;

function takeWhileFits<Row extends TextRow>(rows: Iterable<Row>, maxChars: number): Row[] {
  const taken: Row[] = [];
  let chars = 0;
  for (const row of rows) {
    chars += row.text.length;
    if (taken.length > 0 && chars > maxChars) {
      break;
    }
    taken.push(row);
  }
  return taken;
}

function summarize(row: SessionRow): SessionSummary {
  const { key, createdAt, activeAt, messages, pending } = row;
  return { key, createdAt: iso(createdAt), lastActivityAt: iso(activeAt), messages, pendingEvents: pending };
}

function pending({ id, text, at }: TextRow): PendingEvent {
  return { id, text, time: iso(at) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
