/** What the embedded gateway brings into the shared database file. */
import type { SqliteModule } from "../../../storage/sqlite/engine/module.ts";
import { prepareEventWrites } from "./event-writes.ts";
import { prepareOutboxWrites } from "./outbox-writes.ts";
import { prepareRetentionWrites } from "./retention-writes.ts";
import { prepareSessionWrites } from "./session-writes.ts";
import type {
  AppendTurn,
  BeginRun,
  BeginRunOutcome,
  EndRun,
  EnqueueEvent,
  EnqueueOutcome,
  ForgetRuns,
  ForgetRunsOutcome,
  RecordMessage,
  RequestTurn,
  SetRoute,
} from "./state-operations.ts";
import { STATE_MIGRATIONS } from "./state-tables.ts";
import { prepareTranscriptBytes } from "./transcript-bytes.ts";

/** Where this module is, for the database that is to load it. */
export const STATE_MODULE_URL: URL = new URL(import.meta.url);

/** Sessions, transcripts, system events and the outbox; each operation is one write in one commit. */
export const sqliteModule: SqliteModule = {
  name: "embedded",
  migrations: STATE_MIGRATIONS,
  operations(database) {
    const transcripts = prepareTranscriptBytes(database);
    const sessions = prepareSessionWrites(database, transcripts);
    const events = prepareEventWrites(database, sessions);
    const outbox = prepareOutboxWrites(database);
    const retention = prepareRetentionWrites(database, transcripts);
    const setWake = database.prepare("UPDATE embedded_session SET wake_agent = ?, wake_reason = ? WHERE id = ?");
    const clearWake = database.prepare(
      "UPDATE embedded_session SET wake_agent = NULL, wake_reason = NULL WHERE id = ? AND pending = 0",
    );
    const setRoute = database.prepare("UPDATE embedded_session SET route_channel = ?, route_to = ? WHERE id = ?");

    return {
      enqueue: (event: EnqueueEvent): EnqueueOutcome => events.enqueue(event),

      requestTurn({ sessionKey, agentId, reason, at }: RequestTurn): void {
        setWake.run(agentId, reason, sessions.session(sessionKey, { kept: true, at }).id);
      },

      beginRun({ sessionKey, runId, prompt, at }: BeginRun): BeginRunOutcome {
        const { id } = sessions.session(sessionKey, { kept: false, at });
        const added = sessions.addMessage(id, { runId, isolated: true, role: "user", at, text: prompt });
        return added ? "begun" : "repeated";
      },

      endRun({ sessionKey, runId, role, text, at }: EndRun): void {
        const { id } = sessions.session(sessionKey, { kept: false, at });
        sessions.addMessage(id, { runId, isolated: true, role, at, text });
      },

      appendTurn(turn: AppendTurn): void {
        const { at, turnId: runId } = turn;
        const { id } = sessions.session(turn.sessionKey, { kept: true, at });
        events.consume(id, turn.eventIds);
        clearWake.run(id);
        sessions.addMessage(id, { runId, isolated: false, role: "user", at, text: turn.user });
        sessions.addMessage(id, { runId, isolated: false, role: "assistant", at, text: turn.assistant });
        if (turn.outgoing !== undefined) {
          outbox.record({ message: turn.outgoing, state: "pending", at });
        }
        events.forgetOldKeys(at);
      },

      setRoute({ sessionKey, channel, to, at }: SetRoute): void {
        setRoute.run(channel, to, sessions.session(sessionKey, { kept: true, at }).id);
      },

      forgetRuns: (step: ForgetRuns): ForgetRunsOutcome => retention.forgetRuns(step),

      recordMessage: (record: RecordMessage): void => outbox.record(record),
    };
  },
};
