/** Questions to the owner: may the agent do this one thing? */
import { hash, randomInt } from "node:crypto";
import type { ChannelMessage, Clock, Logger } from "../../../core/host.ts";
import type { Approval, ApprovalState } from "../../../core/agent-rights.ts";
import { HIDDEN } from "../../../core/boundary/remove-hidden.ts";
import { sanitizeName } from "../../../core/boundary/sanitize-untrusted.ts";
import type { StoredApproval } from "../state/approval-writes.ts";
import { type StateStore, writeTo } from "../state/state-store.ts";
import type { TurnIds } from "./turn.ts";

export interface Question extends TurnIds {
  readonly title: string;
  readonly input: string | undefined;
}

/** `left`: the gateway stops; the question waits for the next attempt. */
export type OwnerAnswer = "approved" | "denied" | "expired" | "left";

/** Leaves the question to be sent to the owner of an agent, once for its key. */
export type QueueForOwner = (agentId: string, message: Omit<ChannelMessage, "channel" | "to">) => Promise<void>;

interface ApprovalsOptions {
  readonly state: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly queue: QueueForOwner;
}

/** Questions that wait at once, in one process. */
const MAX_WAITING = 500;
/** Of the arguments, what the owner is shown. */
const MAX_INPUT_CHARS = 2_000;
/** No run waits longer for its owner, so that what is older is of a run that is gone. */
const MAX_AGE_MS = 86_400_000;
const LISTED = 200;
const LOOK_MS = 1_000;
/** Without letters and digits that look alike. */
const ID_CHARACTERS = "23456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH = 6;
const UNSEEN = new RegExp(`(?:${HIDDEN.source}|(?![\\n\\t])\\p{Cc})+`, "gu");

/**
 * Asks, waits and remembers. A question is stored before it is sent, so that it outlives the process: what a run asks
 * again after a crash is the same question, and an answer that came meanwhile holds for it, once.
 */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #waiting = new Map<string, (answer: OwnerAnswer) => void>();
  #isStopping = false;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** Resolves with the owner's answer, or `expired` when none came in time; never rejects. */
  async ask(question: Question, timeoutMs: number, signal: AbortSignal): Promise<OwnerAnswer> {
    if (signal.aborted || this.#waiting.size >= MAX_WAITING) return "expired";
    try {
      const stored = await this.#find(question);
      // Also one that waits since a process that ended before it was sent.
      if (stored.state === "waiting") void this.#send(stored);
      if (stored.state === "denied") return "denied";
      if (stored.state === "approved") return await this.#use(stored.id);
      return await this.#wait(stored.id, timeoutMs, signal);
    } catch (error) {
      this.#options.logger.error({ err: error, title: question.title }, "a question to the owner could not be asked");
      return "expired";
    }
  }

  /** Answers a question once; `undefined` when there is none that waits. */
  async answer(id: string, answer: "approved" | "denied"): Promise<Approval | undefined> {
    const row = await this.#options.state.read("approval", id);
    if (row?.state !== "waiting") return undefined;
    if (!(await this.#set(id, "waiting", answer))) return undefined;
    this.#waiting.get(id)?.(answer);
    return viewOf({ ...row, state: answer });
  }

  /** Questions that wait, the latest first. */
  async list(): Promise<readonly Approval[]> {
    return (await this.#options.state.read("waitingApprovals", LISTED)).map(viewOf);
  }

  /** Forgets the questions of runs that are gone. */
  async start(): Promise<void> {
    const before = this.#options.clock.now() - MAX_AGE_MS;
    await writeTo(this.#options.state, "The end of old questions", "expireApprovals", { before });
  }

  /** From now on, a run that is aborted leaves its question to the next attempt. */
  stop(): void {
    this.#isStopping = true;
  }

  /** The question that waits or was answered before, or a new one. */
  async #find(question: Question): Promise<StoredApproval> {
    const { agentId, sessionKey, runId, title, input = "" } = question;
    const { clock, state } = this.#options;
    // An attempt that is made again asks the same.
    const run = runId?.replace(/-a\d+$/u, "") ?? `${sessionKey}#${clock.now()}`;
    const key = hash("sha256", JSON.stringify([run, title, input]), "hex");
    const known = await state.read("approvalOf", key);
    if (known !== undefined && !this.#waiting.has(known.id)) return known;
    const row: StoredApproval = {
      id: Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join(""),
      question: key,
      agent: agentId,
      session: sessionKey,
      run: runId ?? null,
      title: sanitizeName(title),
      input: shown(input),
      asked_at: clock.now(),
      state: "waiting",
    };
    await writeTo(state, "The question", "addApproval", row);
    return row;
  }

  async #send({ id, agent, session, title, input }: StoredApproval): Promise<void> {
    const { queue, logger } = this.#options;
    const text = [
      `The agent ${agent} asks for your approval of: ${title}`,
      input === "" ? "It names no arguments." : input,
      `Session: ${sanitizeName(session)}`,
      `Answer once: reveille approvals approve ${id}, or reveille approvals deny ${id}. ` +
        `In a chat that the gateway reads: /approve ${id}, or /deny ${id}.`,
    ].join("\n\n");
    try {
      await queue(agent, { text, idempotencyKey: `approval:${id}` });
    } catch (error) {
      logger.warn({ err: error, id, agent }, "a question could not be sent; it waits in the console and the API");
    }
  }

  async #wait(id: string, timeoutMs: number, signal: AbortSignal): Promise<OwnerAnswer> {
    const { promise, resolve } = Promise.withResolvers<OwnerAnswer>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(() => resolve("expired"), timeoutMs);
    const looking = this.#options.state.isShared ? setInterval(() => void this.#look(id), LOOK_MS) : undefined;
    const onAbort = (): void => resolve(this.#isStopping ? "left" : "expired");
    signal.addEventListener("abort", onAbort, { once: true });
    // It may have been aborted while the question was stored.
    if (signal.aborted) onAbort();
    try {
      const answer = await promise;
      if (answer === "approved") return await this.#use(id);
      // Else the answer came in the same moment.
      if (answer !== "expired" || (await this.#set(id, "waiting", "expired"))) return answer;
      return await this.#use(id);
    } finally {
      this.#waiting.delete(id);
      clearTimeout(timer);
      clearInterval(looking);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** The owner may have answered at another gateway. */
  async #look(id: string): Promise<void> {
    // A database that cannot be read now is read again.
    const state = await this.#options.state.read("approval", id).catch(() => undefined);
    if (state?.state === "approved" || state?.state === "denied") this.#waiting.get(id)?.(state.state);
  }

  /** An approval holds once: whoever takes it is the only one. */
  async #use(id: string): Promise<OwnerAnswer> {
    return (await this.#set(id, "approved", "used")) ? "approved" : "denied";
  }

  #set(id: string, from: ApprovalState, to: ApprovalState): Promise<boolean> {
    return writeTo(this.#options.state, "The answer", "setApproval", { id, from, to });
  }
}

/** The arguments as they are: what a person would not see is spelled out, and what is left out is said. */
function shown(input: string): string {
  const text = input.slice(0, MAX_INPUT_CHARS).toWellFormed().replace(UNSEEN, spelledOut);
  const left = input.length - MAX_INPUT_CHARS;
  return left <= 0 ? text : `${text}\n… and ${left} more characters that are not shown. Deny what you cannot judge.`;
}

function spelledOut(run: string): string {
  return Array.from(run, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`).join("");
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
