/** The state's operations in this process, on a real file, without the thread that runs them in the gateway. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { sessionReads } from "../../../../../src/hosts/embedded/state/session-reads.ts";
import { sqliteTasks } from "../../../../../src/hosts/embedded/state/sqlite-tasks.ts";
import { sqliteModule } from "../../../../../src/hosts/embedded/state/sqlite-module.ts";
import type { ForgetRuns, ForgetRunsOutcome } from "../../../../../src/hosts/embedded/state/operations.ts";
import { openReadConnection } from "../../../../../src/storage/sqlite/engine/open-connection.ts";
import { Writer } from "../../../../../src/storage/sqlite/engine/writer.ts";
import { temporaryFolder } from "../../../storage/sqlite/engine/temporary-folder.ts";

export const MAIN = "agent:main:main";
export const NOW = 1_000_000;
/** What a message counts for besides its text. */
export const ROW = 200;

/** A new file, which is closed when the test has finished. */
export async function openState() {
  const file = join(temporaryFolder(), "state.sqlite");
  let writer = await Writer.open(file, [sqliteModule]);
  const reader = openReadConnection(file);
  onTestFinished(() => {
    reader.close();
    writer.close();
  });
  const carryOut = sqliteTasks(reader);
  const commit = (...writes: readonly (readonly [operation: string, args: object])[]): unknown => {
    const { failures, results } = writer.commit({
      operations: writes.map(([operation]) => `embedded.${operation}`),
      args: writes.map(([, args]) => args),
    });
    if (failures.length > 0) throw new Error(failures[0]!.message);
    return results?.at(-1);
  };
  const step = (before: number, after = 0, bound: Bound = {}): ForgetRunsOutcome =>
    commit(["forgetRuns", forgetting(before, after, bound)]) as ForgetRunsOutcome;
  return {
    commit,
    step,
    /** Steps until nothing is left; gives how many messages each removed. */
    forget: (before: number, bound: Bound = {}): number[] => {
      const removed: number[] = [];
      let after: number | null = 0;
      while (after !== null) {
        const outcome: ForgetRunsOutcome = step(before, after, bound);
        removed.push(outcome.removed);
        after = outcome.next;
      }
      return removed;
    },
    /** Closes the file and opens it again, as a new process would. */
    restart: async (): Promise<void> => {
      writer.close();
      writer = await Writer.open(file, [sqliteModule]);
    },
    counted: () => reader.prepare("SELECT through_id AS through, bytes FROM embedded_transcript_bytes").get(),
    /** What the messages of runs come to up to an id, summed again. */
    summed: (through = Number.MAX_SAFE_INTEGER) =>
      Number(
        reader
          .prepare(
            `SELECT coalesce(sum(octet_length(text) + ${ROW}), 0) AS bytes FROM embedded_message
             WHERE isolated = 1 AND id <= ?`,
          )
          .get(through)?.["bytes"],
      ),
    texts: (key: string) => carryOut(sessionReads.messages(key, { limit: 200 })).messages.map(({ text }) => text),
    sessions: () =>
      Object.fromEntries(
        carryOut(sessionReads.list({ limit: 200 })).sessions.map(({ key, messages }) => [key, messages] as const),
      ),
  };
}

/** What a step is given besides the age. */
export type Bound = Partial<Pick<ForgetRuns, "maxBytes" | "endedBefore">>;

export function forgetting(before: number, after = 0, bound: Bound = {}): ForgetRuns {
  return { after, before, maxBytes: null, endedBefore: 0, now: NOW, ...bound };
}

export function run(runId: string, at: number, sessionKey = "hook:x", text = "reply") {
  return [
    ["beginRun", { sessionKey, runId, prompt: `prompt of ${runId}`, at }],
    ["endRun", { sessionKey, runId, role: "assistant", text, at }],
  ] as const;
}

export function turn(at: number) {
  const [user, assistant] = [`asked at ${at}`, `answered at ${at}`];
  return ["appendTurn", { sessionKey: MAIN, turnId: `t${at}`, user, assistant, eventIds: [], at }] as const;
}
