/** The writes of questions to the owner. */
import type { ApprovalState } from "../../../core/agent-rights.ts";
import { command, run, type StateTask } from "./state-task.ts";

/** A question as it is stored; times are milliseconds since the epoch. */
export interface StoredApproval {
  readonly id: string;
  /** Names the run and the act, so that the same question after a crash is one question. */
  readonly question: string;
  readonly agent: string;
  readonly session: string;
  readonly run: string | null;
  readonly title: string;
  readonly input: string;
  readonly asked_at: number;
  readonly state: ApprovalState;
}

export interface SetApproval {
  readonly id: string;
  readonly from: ApprovalState;
  readonly to: ApprovalState;
}

/** Questions kept, open ones among them. */
const MAX_APPROVALS = 1_000;

const add = command(
  `INSERT INTO embedded_approval (id, question, agent, session, run, title, input, asked_at, state)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);
const trim = command("DELETE FROM embedded_approval WHERE seq <= (SELECT max(seq) FROM embedded_approval) - $1");
const set = command("UPDATE embedded_approval SET state = $1 WHERE id = $2 AND state = $3");
const expire = command(
  "UPDATE embedded_approval SET state = 'expired' WHERE state IN ('waiting', 'approved') AND asked_at < $1",
);

export const approvalWrites = {
  *addApproval({
    id,
    question,
    agent,
    session,
    run: of,
    title,
    input,
    asked_at,
    state,
  }: StoredApproval): StateTask<void> {
    yield* run(add, id, question, agent, session, of, title, input, asked_at, state);
    yield* run(trim, MAX_APPROVALS);
  },

  /** Of questions that were asked before a time. */
  *expireApprovals({ before }: { readonly before: number }): StateTask<void> {
    yield* run(expire, before);
  },

  /** False when the question is in another state by now. */
  *setApproval({ id, from, to }: SetApproval): StateTask<boolean> {
    return (yield* run(set, to, id, from)) > 0;
  },
};
