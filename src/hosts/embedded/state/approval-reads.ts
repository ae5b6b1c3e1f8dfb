/** Reads of questions to the owner. */
import type { StoredApproval } from "./approval-writes.ts";
import { first, query, rows, type StateTask } from "./state-task.ts";

const APPROVAL_ROW = {
  id: "text",
  question: "text",
  agent: "text",
  session: "text",
  run: "text?",
  title: "text",
  input: "text",
  asked_at: "integer",
  state: "text",
} as const;

const byId = query(APPROVAL_ROW, "SELECT * FROM embedded_approval WHERE id = $1");
const byQuestion = query(
  APPROVAL_ROW,
  `SELECT * FROM embedded_approval WHERE question = $1 AND state IN ('waiting', 'approved', 'denied')
   ORDER BY seq DESC LIMIT 1`,
);
const waiting = query(
  APPROVAL_ROW,
  "SELECT * FROM embedded_approval WHERE state = 'waiting' ORDER BY seq DESC LIMIT $1",
);

export const approvalReads = {
  *approval(id: string): StateTask<StoredApproval | undefined> {
    return (yield* first(byId, id)) as StoredApproval | undefined;
  },

  /** The latest one with that question that is not at its end. */
  *approvalOf(question: string): StateTask<StoredApproval | undefined> {
    return (yield* first(byQuestion, question)) as StoredApproval | undefined;
  },

  /** The latest first. */
  *waitingApprovals(limit: number): StateTask<readonly StoredApproval[]> {
    return (yield* rows(waiting, limit)) as readonly StoredApproval[];
  },
};
