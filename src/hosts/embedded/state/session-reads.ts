/** Reads of sessions: for people over the API, and for the turns of the heartbeat. */
import type { TextRights } from "../../../core/agent-rights.ts";
import type { ChannelTarget, HeartbeatRequest } from "../../../core/host.ts";
import type { RowOf, RowShape } from "../../../storage/sqlite/engine/row-query.ts";
import { cutPage, pageSize, readCursor, type PageOrder, type PageQuery } from "./page-cursor.ts";
import type { MessageRole } from "./operations.ts";
import { first, fitting, query, rows, type StateTask } from "./state-task.ts";

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

/** What one turn is given at most. */
export interface TurnLimits {
  readonly limit: number;
  readonly maxChars: number;
  /** Events up to that id are left out. */
  readonly after?: number;
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

const SESSION_COLUMNS = `id, key, created_at AS "createdAt", active_at AS "activeAt", messages, pending`;
const BY_KEY = "session = (SELECT id FROM embedded_session WHERE key = $1)";

const newest = query(
  SESSION_ROW,
  `SELECT ${SESSION_COLUMNS} FROM embedded_session ORDER BY active_at DESC, id DESC LIMIT $1`,
);
const older = query(
  SESSION_ROW,
  `SELECT ${SESSION_COLUMNS} FROM embedded_session WHERE (active_at, id) < ($1, $2)
   ORDER BY active_at DESC, id DESC LIMIT $3`,
);
const MESSAGE_ROW = { ...TEXT_ROW, role: "text", runId: "text?" } as const satisfies RowShape;
const MESSAGES = `SELECT id, at, text, role, run_id AS "runId" FROM embedded_message WHERE ${BY_KEY}`;
const messagesAfter = query(MESSAGE_ROW, `${MESSAGES} AND id > $2 ORDER BY id LIMIT $3`);
const messagesBefore = query(MESSAGE_ROW, `${MESSAGES} AND id < $2 ORDER BY id DESC LIMIT $3`);
const ownMessages = query(
  { ...TEXT_ROW, role: "text" },
  `SELECT id, at, text, role FROM embedded_message WHERE ${BY_KEY} AND isolated = 0 ORDER BY id DESC LIMIT $2`,
);
/** The prompt is looked up for each reply: with a join, PostgreSQL may read those of every session for each. */
const answeredRuns = query(
  { text: "text", prompt: "text" },
  `SELECT text, prompt
   FROM (
     SELECT id, text,
       (SELECT text FROM embedded_message AS prompt
        WHERE prompt.run_id = reply.run_id AND prompt.isolated = 1 AND prompt.role = 'user') AS prompt
     FROM embedded_message AS reply
     WHERE ${BY_KEY} AND isolated = 1 AND role = 'assistant'
     ORDER BY id DESC LIMIT $2
   ) AS turns WHERE prompt IS NOT NULL ORDER BY id DESC`,
);
const eventsAfter = query(
  TEXT_ROW,
  `SELECT id, at, text FROM embedded_event WHERE ${BY_KEY} AND text IS NOT NULL AND id > $2 ORDER BY id LIMIT $3`,
);
const ownersEvents = query(
  { ...TEXT_ROW, channel: "text", to: "text" },
  `SELECT id, at, text, owner_channel AS channel, owner_to AS "to" FROM embedded_event
   WHERE ${BY_KEY} AND text IS NOT NULL AND owner_channel IS NOT NULL ORDER BY id LIMIT $2`,
);
const otherEvents = query(
  TEXT_ROW,
  `SELECT id, at, text FROM embedded_event
   WHERE ${BY_KEY} AND text IS NOT NULL AND owner_channel IS NULL AND id > $2 ORDER BY id LIMIT $3`,
);
const wakes = query(
  { sessionKey: "text", agentId: "text", reason: "text", pending: "integer" },
  `SELECT key AS "sessionKey", wake_agent AS "agentId", wake_reason AS reason, pending FROM embedded_session
   WHERE wake_agent IS NOT NULL AND pending > 0 ORDER BY id`,
);
const agentSessionOf = query({ id: "text?" }, "SELECT agent_session AS id FROM embedded_session WHERE key = $1");
const rightsOf = query({ rights: "text?" }, "SELECT rights FROM embedded_session WHERE key = $1");
const routeOf = query(
  { channel: "text", to: "text" },
  `SELECT route_channel AS channel, route_to AS "to" FROM embedded_session
   WHERE key = $1 AND route_channel IS NOT NULL`,
);

/** A turn that was asked for and has not been. */
export interface RequestedTurn extends HeartbeatRequest {
  /** Events that wait for it. */
  readonly pending: number;
}

/** One part of a conversation. */
export interface ConversationPart {
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  readonly nextCursor: string | null;
}

export interface MessageQuery extends PageQuery {
  /** `oldest` when absent; the pages of one list have one order. */
  readonly order?: PageOrder | undefined;
}

export interface MessagePage {
  readonly messages: readonly SessionMessage[];
  readonly nextCursor: string | null;
}

export interface EventPage {
  readonly events: readonly PendingEvent[];
  readonly nextCursor: string | null;
}

export const sessionReads = {
  /** Newest activity first. */
  *list(page: PageQuery): StateTask<SessionPage> {
    const size = pageSize(page);
    const cursor = readCursor(page, 2);
    const found = yield* cursor === undefined ? rows(newest, size + 1) : rows(older, ...cursor, size + 1);
    const { page: shown, nextCursor } = cutPage(found, size, (row) => [row.activeAt, row.id]);
    return { sessions: shown.map(summarize), nextCursor };
  },

  /** Runs and turns as they were stored, the oldest first unless the query says otherwise. */
  *messages(key: string, page: MessageQuery): StateTask<MessagePage> {
    const size = pageSize(page);
    const isNewestFirst = page.order === "newest";
    const [from = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0] = readCursor(page, 1) ?? [];
    const found = yield* rows(isNewestFirst ? messagesBefore : messagesAfter, key, from, size + 1);
    const { page: shown, nextCursor } = cutPage(found, size, (row) => [row.id]);
    return {
      messages: shown.map(({ id, role, text, at, runId }) => ({
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
  *pendingEvents(key: string, page: PageQuery): StateTask<EventPage> {
    const size = pageSize(page);
    const [after = 0] = readCursor(page, 1) ?? [];
    const found = yield* rows(eventsAfter, key, after, size + 1);
    const { page: shown, nextCursor } = cutPage(found, size, (row) => [row.id]);
    return { events: shown.map(pending), nextCursor };
  },

  /** The oldest pending events that fit, without messages of the owner; at least one when there is one. */
  *turnEvents(key: string, { limit, maxChars, after = 0 }: TurnLimits): StateTask<readonly PendingEvent[]> {
    return (yield* fitting(otherEvents, maxChars, key, after, limit)).map(pending);
  },

  /** The owner's oldest messages that wait, all from one chat; at least one when there is one. */
  *ownerMessages(key: string, { limit, maxChars }: TurnLimits): StateTask<OwnerMessages | undefined> {
    const found = yield* fitting(ownersEvents, maxChars, key, limit);
    const [one] = found;
    if (one === undefined) return undefined;
    const { channel, to } = one;
    const other = found.findIndex((row) => row.channel !== channel || row.to !== to);
    return { from: { channel, to }, messages: found.slice(0, other === -1 ? found.length : other).map(pending) };
  },

  /** The latest messages of the session's own turns that fit, oldest first, runs left out. */
  *conversation(key: string, { limit, maxChars }: TurnLimits): StateTask<readonly ConversationPart[]> {
    const found = (yield* fitting(ownMessages, maxChars, key, limit)).toReversed();
    const begin = found.findIndex((row) => row.role === "user");
    if (begin === -1) return [];
    return found.slice(begin).map(({ role, text }) => ({ role: role as ConversationPart["role"], text }));
  },

  /** The latest turns of runs that were answered and fit, oldest first; one that is too long by itself is left out. */
  *runTurns(key: string, { limit, maxChars }: TurnLimits): StateTask<readonly ConversationPart[]> {
    const turns: ConversationPart[][] = [];
    let chars = 0;
    for (const { prompt, text } of yield* fitting(answeredRuns, maxChars, key, limit)) {
      chars += prompt.length + text.length;
      if (chars > maxChars) break;
      turns.push([
        { role: "user", text: prompt },
        { role: "assistant", text },
      ]);
    }
    return turns.toReversed().flat();
  },

  /** Turns that were asked for and whose events still wait. */
  *requestedTurns(): StateTask<readonly RequestedTurn[]> {
    return (yield* rows(wakes)).map((row) => ({ ...row }));
  },

  /** What the texts that the session has read leave of its agent's rights. */
  *rights(key: string): StateTask<readonly TextRights[]> {
    return ((yield* first(rightsOf, key))?.rights ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as TextRights);
  },

  *agentSession(key: string): StateTask<string | undefined> {
    return (yield* first(agentSessionOf, key))?.id ?? undefined;
  },

  *route(key: string): StateTask<ChannelTarget | undefined> {
    const row = yield* first(routeOf, key);
    return row && { channel: row.channel, to: row.to };
  },
};

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
