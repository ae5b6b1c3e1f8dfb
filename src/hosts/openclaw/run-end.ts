import type { Logger } from "../../core/host.ts";
import type { LatestTurn } from "./event-queue.ts";
import type { OpenClawSubagent, SubagentOutcome } from "./sdk.ts";

/** Time that one call waits for a run; the host answers when it ends before. */
const WAIT_MS = 60_000;
/** A host that answers sooner that it does not know yet is asked again after this. */
const ASK_AGAIN_MS = 200;
/** Interval of the check whether a turn has followed one that had yielded; that reads the host's store. */
const YIELD_POLL_MS = 1_000;
/** A run whose session has ended for this long without a report counts as lost. */
const LOST_MS = 30_000;

export interface RunWaitOptions {
  readonly subagent: Pick<OpenClawSubagent, "waitForRun">;
  /** Absent when the host does not report turns; `undefined` when it knows of none in this session. */
  readonly latestTurn?: (sessionKey: string) => LatestTurn | undefined;
  readonly logger: Logger;
}

export interface HostRunEnd {
  readonly outcome: SubagentOutcome;
  /** True when the host did not report this end: something of the run may still continue. */
  readonly isLost: boolean;
}

interface Run {
  readonly session: string;
  readonly hostRunId: string;
  /** Turns of the session that ended before this time are another run's; 0 when the session is its own. */
  readonly since: number;
}

/** Waits for the ends of runs in the host. */
export class RunWait {
  readonly #options: RunWaitOptions;

  constructor(options: RunWaitOptions) {
    this.#options = options;
  }

  /** Resolves with the end of the run; with `undefined` once `ending` was fired. */
  async end(run: Run, ending: AbortSignal): Promise<HostRunEnd | undefined> {
    const ended = Promise.withResolvers<undefined>();
    ending.addEventListener("abort", () => ended.resolve(undefined), { once: true });
    while (!ending.aborted) {
      const askedAt = performance.now();
      const outcome = await Promise.race([ended.promise, this.#ask(run.hostRunId)]);
      if (outcome === undefined) return undefined;
      if (hasYielded(outcome)) return this.#afterYield(run, outcome, { ending, ended: ended.promise });
      if (isEnd(outcome)) return { outcome, isLost: false };
      const left = this.#lostEnd(run);
      if (left !== undefined) return { outcome: left, isLost: true };
      const rest = ASK_AGAIN_MS - (performance.now() - askedAt);
      if (rest > 0) await Promise.race([ended.promise, pause(rest)]);
    }
    return undefined;
  }

  /**
   * The end of the work whose turn has yielded: what it waits for wakes a further turn of the session, and
   * only that one has the answer.
   */
  async #afterYield(
    { session, since }: Run,
    outcome: SubagentOutcome,
    { ending, ended }: { ending: AbortSignal; ended: Promise<undefined> },
  ): Promise<HostRunEnd | undefined> {
    if (this.#options.latestTurn === undefined) return { outcome, isLost: false };
    while (!ending.aborted) {
      const turn = this.#latestTurn(session, since);
      // A host that does not report turns says of each that it has ended.
      if (turn?.endedAt === Infinity) return { outcome, isLost: false };
      if (turn?.status !== undefined && turn.status !== "running") {
        return { outcome: outcomeOf(turn, "A turn that followed did not succeed"), isLost: false };
      }
      await Promise.race([ended, pause(YIELD_POLL_MS)]);
    }
    return undefined;
  }

  /**
   * The end of a run that the host has lost: it says no more of it than of one that continues, but its session
   * has ended. `undefined` while that is not so.
   */
  #lostEnd({ session, since }: Run): SubagentOutcome | undefined {
    const turn = this.#latestTurn(session, since);
    // A session that has yielded has an end and still continues.
    if (turn?.endedAt === undefined || turn.status === "running") return undefined;
    if (Date.now() - turn.endedAt < LOST_MS) return undefined;
    this.#options.logger.warn({ session, status: turn.status }, "the host did not report the end of a run");
    return outcomeOf(turn, "The host has lost the run");
  }

  /** A store that cannot be read is no end of a run. */
  #latestTurn(session: string, since: number): LatestTurn | undefined {
    try {
      const turn = this.#options.latestTurn?.(session);
      return turn?.endedAt !== undefined && turn.endedAt < since ? undefined : turn;
    } catch (error) {
      this.#options.logger.debug({ err: error, session }, "the session of a run could not be read");
      return undefined;
    }
  }

  /** A wait that fails is no end of the run: it is asked for again until the time is up. */
  async #ask(runId: string): Promise<SubagentOutcome> {
    try {
      return await this.#options.subagent.waitForRun({ runId, timeoutMs: WAIT_MS });
    } catch (error) {
      this.#options.logger.debug({ err: error, runId }, "the host could not be asked about a run");
      return { status: "pending" };
    }
  }
}

/** The end of a run by its session; its reply is in the transcript. */
function outcomeOf({ status, endedAt }: LatestTurn, what: string): SubagentOutcome {
  const end = endedAt === undefined ? {} : { endedAt };
  if (status === "done") return { status: "ok", ...end };
  if (status === "timeout") return { status: "timeout", ...end };
  return { status: "error", error: `${what}; its session is ${status ?? "ended"}.`, ...end };
}

function hasYielded({ status, yielded }: SubagentOutcome): boolean {
  return status === "ok" && yielded === true;
}

/** True when the run has ended: a `timeout` without an end of the run is only that of the wait. */
function isEnd({ status, endedAt, pendingError }: SubagentOutcome): boolean {
  if (status === "timeout") return endedAt !== undefined && pendingError !== true;
  return status !== "pending";
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined));
}

interface TranscriptMessage {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly text?: unknown;
}

/** The text of the agent's last message; empty when it has said nothing. */
export function lastReply(messages: readonly unknown[]): string {
  const last = messages.filter(isMessage).findLast(({ role }) => role === "assistant");
  return last === undefined ? "" : textOf(last);
}

/** The messages after the prompt, of a session that may hold earlier turns. */
export function afterPrompt(messages: readonly unknown[], prompt: string): readonly unknown[] {
  const sent = prompt.trim();
  const at = messages.findLastIndex(
    (message) => isMessage(message) && message.role === "user" && textOf(message).includes(sent),
  );
  return messages.slice(at + 1);
}

/** True when the agent has said or done anything: a message of its own with content, or a tool's result. */
export function sawAnswer(messages: readonly unknown[]): boolean {
  return messages.filter(isMessage).some((message) => {
    if (message.role === "user" || message.role === "system") return false;
    return message.role !== "assistant" || hasContent(message);
  });
}

function hasContent(message: TranscriptMessage): boolean {
  const { content } = message;
  if (!Array.isArray(content)) return textOf(message) !== "";
  return content.some((part: unknown) => isMessage(part) && (!("text" in part) || part.text !== ""));
}

function textOf({ content, text }: TranscriptMessage): string {
  if (typeof content === "string") return content;
  if (typeof text === "string") return text;
  if (!Array.isArray(content)) return "";
  const parts: readonly unknown[] = content;
  return parts.map((part) => (isMessage(part) && typeof part.text === "string" ? part.text : "")).join("");
}

function isMessage(value: unknown): value is TranscriptMessage {
  return typeof value === "object" && value !== null;
}
