/** Questions to the owner: may the agent do this one thing? */
import { hash, randomInt } from "node:crypto";
import type { ChannelMessage, Clock, Logger } from "../../../core/host.ts";
import type { Approval, ApprovalState } from "../../../core/agent-rights.ts";
import type { SqliteDatabase } from "../../../storage/sqlite/engine/database.ts";
import { writeState } from "../../shared/write-state.ts";
import type { SetApproval, StoredApproval } from "../state/approval-writes.ts";
import type { TurnIds } from "./turn.ts";

export interface Question extends TurnIds {
  readonly title: string;
  readonly input: string | undefined;
}

export type Answer = "approved" | "denied" | "expired";

/** Sends the question to the owner of an agent. */
export type SendToOwner = (agentId: string, message: Omit<ChannelMessage, "channel" | "to">) => Promise<void>;

interface ApprovalsOptions {
  readonly database: SqliteDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly send: SendToOwner;
}

/** Questions that wait at once, in one process. */
const MAX_WAITING = 500;
const MAX_INPUT_CHARS = 2_000;
const LISTED = 200;
/** Without letters and digits that look alike. */
const ID_CHARACTERS = "23456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH = 6;

/**
 * Asks, waits and remembers. A question is stored before it is sent, so that it outlives the process: what a run asks
 * again after a crash is the same question, and an answer that came meanwhile holds for it, once.
 */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #byId;
  readonly #byQuestion;
  readonly #open;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    const { reader } = options.database;
    this.#byId = reader.prepare("SELECT * FROM embedded_approval WHERE id = ?");
    this.#byQuestion = reader.prepare(
      `SELECT * FROM embedded_approval WHERE question = ? AND state IN ('waiting', 'approved', 'denied')
       ORDER BY seq DESC LIMIT 1`,
    );
    this.#open = reader.prepare("SELECT * FROM embedded_approval WHERE state = 'waiting' ORDER BY seq DESC LIMIT ?");
  }

  /** Resolves with the owner's answer, or `expired` when none came in time; never rejects. */
  async ask(question: Question, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
    if (signal.aborted || this.#waiting.size >= MAX_WAITING) return "expired";
    try {
      const stored = await this.#find(question);
      if (stored.state === "denied") return "denied";
      if (stored.state === "approved") return (await this.#set(stored.id, "approved", "used")) ? "approved" : "expired";
      return await this.#wait(stored.id, timeoutMs, signal);
    } catch (error) {
      this.#options.logger.error({ err: error, title: question.title }, "a question to the owner could not be asked");
      return "expired";
    }
  }

  /** Answers a question once; `undefined` when there is none that waits. */
  async answer(id: string, answer: "approved" | "denied"): Promise<Approval | undefined> {
    const row = this.#byId.get(id) as StoredApproval | undefined;
    if (row?.state !== "waiting") return undefined;
    if (!(await this.#set(id, "waiting", answer))) return undefined;
    const heard = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (heard !== undefined && answer === "approved") await this.#set(id, "approved", "used");
    heard?.(answer);
    return viewOf({ ...row, state: answer });
  }

  /** Questions that wait, the latest first. */
  list(): readonly Approval[] {
    return (this.#open.all(LISTED) as unknown as StoredApproval[]).map(viewOf);
  }

  /** The question that waits or was answered before, or a new one, which is sent. */
  async #find(question: Question): Promise<StoredApproval> {
    const { agentId, sessionKey, runId, title, input = "" } = question;
    const { clock, database } = this.#options;
    // An attempt that is made again asks the same.
    const run = runId?.replace(/-a\d+$/u, "") ?? `${sessionKey}#${clock.now()}`;
    const key = hash("sha256", JSON.stringify([run, title, input]), "hex");
    const known = this.#byQuestion.get(key) as StoredApproval | undefined;
    if (known !== undefined && !this.#waiting.has(known.id)) return known;
    const row: StoredApproval = {
      id: Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join(""),
      question: key,
      agent: agentId,
      session: sessionKey,
      run: runId ?? null,
      title,
      input: input.slice(0, MAX_INPUT_CHARS).toWellFormed(),
      asked_at: clock.now(),
      state: "waiting",
    };
    await writeState(database, "embedded.addApproval", row, "The question");
    void this.#send(row);
    return row;
  }

  async #send({ id, agent, title, input }: StoredApproval): Promise<void> {
    const { send, logger } = this.#options;
    const text = [
      `The agent ${agent} asks for your approval of: ${title}${input === "" ? "" : `\n${input}`}`,
      `Answer once: reveille approvals approve ${id}, or reveille approvals deny ${id}. ` +
        `In a chat that the gateway reads: /approve ${id}, or /deny ${id}.`,
    ].join("\n\n");
    try {
      await send(agent, { text, idempotencyKey: `approval:${id}` });
    } catch (error) {
      logger.warn({ err: error, id, agent }, "a question could not be sent; it waits in the console and the API");
    }
  }

  async #wait(id: string, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(() => resolve("expired"), timeoutMs);
    const onAbort = (): void => resolve("expired");
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const answer = await promise;
      if (answer === "expired" && !(await this.#set(id, "waiting", "expired"))) {
        // The answer came in the same moment.
        const late = (this.#byId.get(id) as StoredApproval | undefined)?.state;
        return late === "used" ? "approved" : "denied";
      }
      return answer;
    } finally {
      this.#waiting.delete(id);
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  #set(id: string, from: ApprovalState, to: ApprovalState): Promise<boolean> {
    const change: SetApproval = { id, from, to };
    return writeState(this.#options.database, "embedded.setApproval", change, "The answer");
  }
}

function viewOf({ id, agent, session, run, title, input, asked_at: askedAt, state }: StoredApproval): Approval {
  return {
    id,
    agentId: agent,
    sessionKey: session,
    runId: run,
    title,
    input,
    askedAt: new Date(askedAt).toISOString(),
    state,
  };
}
