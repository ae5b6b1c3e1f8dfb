import type { TokenUsage } from "../../core/token-usage.ts";
import { hash } from "node:crypto";
import { withInstructions } from "../../core/boundary/wrap-untrusted.ts";
import { HostError } from "../../core/host.ts";
import type { AgentCatalog, AgentInfo, AgentRunRequest, AgentRunResult, HostAgents, Logger } from "../../core/host.ts";
import { isTransient, isRefusedUpFront, mayHaveBegun, neverBegan, wasNotAccepted } from "./error-classifier.ts";
import { unenforceable } from "./enforceable.ts";
import type { LatestTurn } from "./event-queue.ts";
import { memoizeByConfig } from "./memoize.ts";
import type { OpenClawConfig, OpenClawSubagent, SubagentOutcome } from "./sdk.ts";
import { agentCatalog } from "./read-config.ts";
import { lastReply, RunWait, sawAnswer } from "./run-end.ts";
import { RunSessions } from "./run-session.ts";
import { type SessionUse, SessionUses } from "./session-uses.ts";
import type { OpenClawState } from "./state.ts";

/** The host's lane for background turns: hook runs do not take the places of its owner's. */
const LANE = "subagent";
/** Sessions that one sweep removes. */
const SWEEP_STEP = 200;
/** Sessions that the host does not end, after which a sweep is over. */
const MAX_REFUSED = 10;
/** Runs that the host did not end on request, and is asked to end again; more wait for the next start. */
const MAX_UNENDED = 1_000;
/** The host enters a run into its lanes at once: one that they did not accept has no time for more. */
const REFUSAL_MS = 1_000;
const UNBEGUN: AgentRunResult = { status: "aborted", reply: "", error: "The run was aborted before it began." };

export interface OpenClawAgentsOptions {
  readonly pluginId: string;
  readonly config: () => OpenClawConfig;
  readonly subagent: OpenClawSubagent;
  readonly state: OpenClawState;
  /** Absent when the host does not report turns; `undefined` when it knows of none in this session. */
  readonly latestTurn?: (sessionKey: string) => LatestTurn | undefined;
  /** What the host has counted in a session; `undefined` when it does not say. */
  readonly usageOf?: (sessionKey: string) => TokenUsage | undefined;
  readonly logger: Logger;
}

/**
 * The host's agents. Each attempt has a session of its own, `agent:<id>:subagent:<attempt>`; the persistent runs of
 * one session key share one. The host takes up no such session by itself after a crash, so that a run of ours is
 * repeated by no one else.
 */
export class OpenClawAgents implements HostAgents {
  readonly #options: OpenClawAgentsOptions;
  readonly #catalog: () => AgentCatalog;
  readonly #wait: RunWait;
  readonly #sessions: RunSessions;
  /** Sessions by run that earlier processes left, until a run of this one continues the session. */
  readonly #lost: Map<string, string>;
  /** Sessions by run that the host did not end. */
  readonly #unended = new Map<string, string>();
  /** Sessions with a run in progress: they are not removed because of a run before. */
  readonly #uses = new SessionUses();
  #hasLoggedThinking = false;

  constructor(options: OpenClawAgentsOptions) {
    this.#options = options;
    this.#catalog = memoizeByConfig(options.config, (config) => agentCatalog(config, options.pluginId));
    this.#wait = new RunWait(options);
    this.#sessions = new RunSessions(options, this.#uses);
    this.#lost = new Map(options.state.unendedRuns().map(({ id, session }) => [id, session]));
  }

  list(): readonly AgentInfo[] {
    return this.#catalog().list();
  }

  resolve(agentId: string | undefined): AgentInfo {
    return this.#catalog().resolve(agentId);
  }

  allowedModels(agentId: string): readonly string[] | undefined {
    return this.#catalog().allowedModels(agentId);
  }

  /** Runs one turn; the session key of the request stays ours, the host sees one for each attempt. */
  async run(request: AgentRunRequest): Promise<AgentRunResult> {
    const { runId, signal } = request;
    const { state } = this.#options;
    if (signal.aborted) return UNBEGUN;
    const unknown = unenforceable(request);
    if (unknown !== undefined) return { status: "error", reply: "", error: unknown };
    const session = sessionOf(request);
    const use = this.#uses.enter(session);
    try {
      if ((await state.beginRun(runId, session)) === "repeated") {
        throw new HostError(`A run with the id ${JSON.stringify(runId)} has begun before.`, { retryable: false });
      }
      await this.#uses.settled(session, signal);
      if (signal.aborted) {
        await state.undoRun(runId);
        return UNBEGUN;
      }
      const since = request.sessionMode === "persistent" ? Date.now() : 0;
      const hostRunId = await this.#begin(request, use);
      await this.#continue(session);
      const { result, hasEnded } = await this.#end(request, { session, use, hostRunId, since });
      // One that may continue stays open, so that it is ended later or by the next process.
      if (hasEnded) await this.#recordEnd(runId);
      else this.#endLater(runId, session);
      return result;
    } finally {
      this.#uses.leave(use);
    }
  }

  /** Ends what earlier processes of the gateway left: nothing continues beside the next attempt. */
  async endLostRuns(closing?: AbortSignal): Promise<void> {
    for (const [id, session] of this.#lost) {
      if (closing?.aborted === true) return;
      if (this.#uses.isUsed(session)) continue;
      if (await this.#sessions.end(session)) await this.#recordEnd(id);
      // A run may have continued the session meanwhile.
      else if (this.#lost.has(id)) this.#endLater(id, session);
    }
  }

  /**
   * Ends what the host would not end before, and removes some of the sessions in which runs were that ended
   * long ago: the host keeps each permanently.
   */
  async removeOldSessions(): Promise<void> {
    const { state } = this.#options;
    for (const [id, session] of this.#unended) {
      if (this.#uses.isUsed(session) || !(await this.#sessions.end(session))) continue;
      this.#unended.delete(id);
      await this.#recordEnd(id);
    }
    let refused = 0;
    for (const { id, session } of state.oldRuns({ limit: SWEEP_STEP })) {
      if (this.#uses.isUsed(session)) continue;
      // Without its name the session would stay permanently. While the plugin is reloaded, the host refuses them all.
      if (await this.#sessions.end(session)) await state.forgetSession(id);
      else if (++refused === MAX_REFUSED) return;
    }
  }

  /**
   * A run of this process continues the session: the runs before it there have ended, since the host carries out one turn
   * of a session at a time, and to end them once more would remove the conversation.
   */
  async #continue(session: string): Promise<void> {
    for (const runs of [this.#lost, this.#unended]) {
      for (const [id, left] of runs) {
        if (left !== session) continue;
        this.#lost.delete(id);
        this.#unended.delete(id);
        await this.#recordEnd(id);
      }
    }
  }

  async #begin(request: AgentRunRequest, use: SessionUse): Promise<string> {
    const { subagent, state } = this.#options;
    const { session } = use;
    this.#logThinking(request);
    try {
      const { runId } = await subagent.run({
        sessionKey: session,
        // The host takes an `extraSystemPrompt` for a run, and drops it.
        message: messageOf(request),
        deliver: false,
        lane: LANE,
        idempotencyKey: `${request.runId}#${Date.now().toString(36)}`,
        ...(request.model === undefined ? {} : { model: request.model }),
        ...(request.tools === "none" || request.permissions === "deny" ? { disableTools: true } : {}),
      });
      return runId;
    } catch (error) {
      // What refused it unseen has changed nothing, and the conversation of a persistent session stays.
      const isRefused = isRefusedUpFront(error);
      const isUntouched = request.sessionMode === "persistent" && isRefused;
      const ending = isRefused ? undefined : request.signal;
      const isStopped = isUntouched || (await this.#sessions.end(session, { ending, own: use }));
      // The same id may be used again only when nothing runs under it.
      if (!isStopped && !isRefused) {
        this.#endLater(request.runId, session);
        throw mayHaveBegun(error);
      }
      await state.undoRun(request.runId);
      throw neverBegan(error);
    }
  }

  /** Waits for the end, or makes one when the time is up or the caller says so. */
  async #end(
    request: AgentRunRequest,
    run: { session: string; use: SessionUse; hostRunId: string; since: number },
  ): Promise<{ result: AgentRunResult; hasEnded: boolean }> {
    const { timeoutMs, signal } = request;
    const deadline = AbortSignal.timeout(Math.min(timeoutMs, 2 ** 31 - 1));
    const ending = AbortSignal.any([signal, deadline]);
    const end = await this.#wait.end(run, ending);
    if (end !== undefined) {
      const wasRefused = wasNotAccepted(end.outcome.error ?? "");
      const messages: ReadMessages = () =>
        this.#sessions.messages(run.session, messageOf(request), { ending, wasRefused });
      const result = await resultOf(end.outcome, messages);
      // A session that several runs share counts them together.
      const usage = request.sessionMode === "persistent" ? undefined : this.#options.usageOf?.(run.session);
      // Its session is removed with what may still run in it, so that its messages are read before.
      return {
        result: usage === undefined ? result : { ...result, usage },
        hasEnded: !end.isLost || (await this.#sessions.end(run.session, { own: run.use })),
      };
    }
    const hasEnded = await this.#sessions.end(run.session, { own: run.use });
    const result: AgentRunResult = signal.aborted
      ? { status: "aborted", reply: "", error: "The run was aborted." }
      : { status: "timeout", reply: "", error: `The run was aborted after its ${timeoutMs} ms.` };
    return { result, hasEnded };
  }

  #endLater(runId: string, session: string): void {
    this.#options.logger.warn({ runId, session }, "the host did not end a run that was aborted");
    if (this.#unended.size < MAX_UNENDED) this.#unended.set(runId, session);
  }

  /** The result stands even when its end could not be stored. */
  async #recordEnd(runId: string): Promise<void> {
    try {
      await this.#options.state.endRun(runId);
    } catch (error) {
      this.#options.logger.warn({ err: error, runId }, "the end of a run could not be stored");
    }
  }

  #logThinking({ thinking }: AgentRunRequest): void {
    if (thinking === undefined || this.#hasLoggedThinking) return;
    this.#hasLoggedThinking = true;
    this.#options.logger.warn({ thinking }, "OpenClaw takes no thinking level from plugins: the agent's own is used");
  }
}

/** A persistent run continues the session that the host has of its key; any other begins one of its own. */
function sessionOf({ agentId, sessionKey, sessionMode, runId }: AgentRunRequest): string {
  const name = sessionMode === "persistent" ? `kept-${sessionName(sessionKey)}` : sessionName(runId);
  return `agent:${agentId}:subagent:${name}`;
}

/** Readable, in the characters of a session key, and different for each id. */
function sessionName(id: string): string {
  const name = id.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return `${name.slice(0, 64)}-${hash("sha256", id).slice(0, 12)}`;
}

/** Reads the messages of a run; `undefined` when the host does not show them. */
type ReadMessages = () => Promise<readonly unknown[] | undefined>;

async function resultOf(outcome: SubagentOutcome, read: ReadMessages): Promise<AgentRunResult> {
  if (outcome.status === "ok") {
    const { terminalReply, yielded } = outcome;
    if (terminalReply !== undefined && yielded !== true) return { status: "ok", reply: terminalReply.text ?? "" };
    const messages = await read();
    if (messages !== undefined) return { status: "ok", reply: lastReply(messages) };
    return { status: "error", reply: "", error: "The run has ended, and OpenClaw does not show its reply." };
  }
  if (outcome.status === "timeout") {
    return {
      status: "timeout",
      reply: "",
      error: outcome.error ?? "The host ended it after a time limit of its own.",
    };
  }
  const error = outcome.error ?? "The host gave no reason.";
  if (outcome.stopReason === "rpc") return { status: "aborted", reply: "", error: `The host ended it: ${error}` };
  const retryable = isTransient(error) && (await didNothing(outcome, read));
  return { status: "error", reply: "", error, retryable };
}

/** A run that has answered or used a tool may have done something, and so may one that is not known: it is not repeated by itself. */
async function didNothing({ error = "", startedAt, endedAt }: SubagentOutcome, read: ReadMessages): Promise<boolean> {
  const messages = await read();
  if (messages !== undefined) return !sawAnswer(messages);
  // A host that stops shows no messages. Its lanes refuse the first turn, or a further model after that one.
  const tookMs = startedAt === undefined || endedAt === undefined ? Infinity : endedAt - startedAt;
  return wasNotAccepted(error) && tookMs < REFUSAL_MS;
}

/** What the agent is given: the owner's instructions, then the prompt. */
function messageOf({ instructions, prompt }: AgentRunRequest): string {
  return withInstructions(instructions, prompt);
}
