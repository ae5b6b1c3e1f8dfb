/** The writes of questions to the owner. */
import type { DatabaseSync } from "node:sqlite";
import type { ApprovalState } from "../../../core/agent-rights.ts";
import type { Migration } from "../../../storage/sqlite/engine/module.ts";

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

export const approvalTable: Migration = [
  `CREATE TABLE embedded_approval (
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
    ) STRICT`,
  `CREATE INDEX embedded_approval_question ON embedded_approval (question)`,
  `CREATE INDEX embedded_approval_waiting ON embedded_approval (seq) WHERE state = 'waiting'`,
];

/** Prepares the statements on one database and returns what uses them. */
export function prepareApprovalWrites(database: DatabaseSync) {
  const add = database.prepare(
    `INSERT INTO embedded_approval (id, question, agent, session, run, title, input, asked_at, state)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const trim = database.prepare(
    "DELETE FROM embedded_approval WHERE seq <= (SELECT max(seq) FROM embedded_approval) - ?",
  );
  const set = database.prepare("UPDATE embedded_approval SET state = ? WHERE id = ? AND state = ?");
  const expire = database.prepare(
    "UPDATE embedded_approval SET state = 'expired' WHERE state IN ('waiting', 'approved') AND asked_at < ?",
  );
  return {
    /** Of questions that were asked before a time. */
    expire: (before: number): void => void expire.run(before),
    add({ id, question, agent, session, run, title, input, asked_at, state }: StoredApproval): void {
      add.run(id, question, agent, session, run, title, input, asked_at, state);
      trim.run(MAX_APPROVALS);
    },
    /** False when the question is in another state by now. */
    set: ({ id, from, to }: SetApproval): boolean => set.run(to, id, from).changes > 0,
  };
}
