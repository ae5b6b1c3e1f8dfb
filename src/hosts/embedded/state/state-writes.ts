/** Every write of the embedded gateway's state: each is one task in one commit. */
import type {
  BeginRunOutcome,
  EnqueueEvent,
  EnqueueOutcome,
  RequestTurn,
  TakeEvent,
} from "../../shared/state-operations.ts";
import { approvalWrites } from "./approval-writes.ts";
import { eventWrites } from "./event-writes.ts";
import type {
  AppendTurn,
  BeginRun,
  EndRun,
  ForgetRuns,
  ForgetRunsOutcome,
  SetAgentSession,
  SetRoute,
} from "./operations.ts";
import { recordMessage } from "./outbox-writes.ts";
import { forgetRuns } from "./retention-writes.ts";
import { sessionWrites } from "./session-writes.ts";
import { command, run, type StateTask } from "./state-task.ts";
import { subscriptionWrites } from "./subscription-tasks.ts";
import { transcriptBytes } from "./transcript-bytes.ts";

const setWake = command("UPDATE embedded_session SET wake_agent = $1, wake_reason = $2 WHERE id = $3");
const clearWake = command(
  "UPDATE embedded_session SET wake_agent = NULL, wake_reason = NULL WHERE id = $1 AND pending = 0",
);
const setAgentSession = command("UPDATE embedded_session SET agent_session = $1 WHERE id = $2");

/** The tasks on one database, for as long as it is open. `isShared`: another gateway may write to it as well. */
export function stateWrites(options: { readonly isShared: boolean }) {
  const transcripts = transcriptBytes(options);
  const sessions = sessionWrites(transcripts);
  const events = eventWrites(sessions);
  function* requestTurn({ sessionKey, agentId, reason, at }: RequestTurn): StateTask<void> {
    yield* run(setWake, agentId, reason, (yield* sessions.session(sessionKey, { kept: true, at })).id);
  }
  return {
    ...approvalWrites,
    ...subscriptionWrites,
    enqueue: (event: EnqueueEvent): StateTask<EnqueueOutcome> => events.enqueue(event),
    recordMessage,
    requestTurn,

    /** Nothing when the session has the event, so that a write can follow that depends on it. */
    *takeEvent({ event, turn }: TakeEvent): StateTask<"full" | undefined> {
      if ((yield* events.enqueue(event, { leavesRoom: true })) === "full") return "full";
      if (turn !== undefined) yield* requestTurn(turn);
      return undefined;
    },

    *beginRun({ sessionKey, runId, prompt, rights, at }: BeginRun): StateTask<BeginRunOutcome> {
      const { id } = yield* sessions.session(sessionKey, { kept: false, at });
      if (rights !== undefined) yield* sessions.lowerRights(id, rights);
      const added = yield* sessions.addMessage(id, { runId, isolated: true, role: "user", at, text: prompt });
      return added ? "begun" : "repeated";
    },

    *endRun({ sessionKey, runId, role, text, at }: EndRun): StateTask<void> {
      const { id } = yield* sessions.session(sessionKey, { kept: false, at });
      yield* sessions.addMessage(id, { runId, isolated: true, role, at, text });
    },

    *appendTurn(turn: AppendTurn): StateTask<void> {
      const { at, turnId: runId } = turn;
      const { id } = yield* sessions.session(turn.sessionKey, { kept: true, at });
      yield* events.consume(id, turn.eventIds);
      yield* run(clearWake, id);
      yield* sessions.addMessage(id, { runId, isolated: false, role: "user", at, text: turn.user });
      yield* sessions.addMessage(id, { runId, isolated: false, role: "assistant", at, text: turn.assistant });
      if (turn.outgoing !== undefined) yield* recordMessage({ message: turn.outgoing, state: "pending", at });
      yield* events.forgetOldKeys(at);
    },

    *setRoute({ sessionKey, channel, to, at }: SetRoute): StateTask<void> {
      yield* sessions.setRoute((yield* sessions.session(sessionKey, { kept: true, at })).id, { channel, to });
    },

    *setAgentSession({ sessionKey, id, at }: SetAgentSession): StateTask<void> {
      yield* run(setAgentSession, id, (yield* sessions.session(sessionKey, { kept: false, at })).id);
    },

    forgetRuns: (step: ForgetRuns): StateTask<ForgetRunsOutcome> => forgetRuns(step, transcripts),
  };
}

export type StateWrites = ReturnType<typeof stateWrites>;
