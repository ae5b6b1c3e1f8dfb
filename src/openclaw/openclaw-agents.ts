import { hash } from "node:crypto";
import { HostError } from "../host.ts";
import type { AgentInfo, AgentRunRequest, AgentRunResult, HostAgents, Logger } from "../host.ts";
import { isPassing, neverBegan } from "./failure-words.ts";
import type { LatestTurn } from "./event-handover.ts";
import type { OpenClawConfig, OpenClawSubagent, SubagentOutcome } from "./openclaw-sdk.ts";
import { agentCatalog } from "./read-openclaw-config.ts";
import { lastReply, sawAnswer } from "./session-messages.ts";
import type { OpenClawState } from "./state/openclaw-state.ts";

/** How long one call waits for a run; the host answers when it ends before. */
const WAIT_MS = 60_000;
/** A host that answers sooner that it does not know yet is asked again after this. */
const ASK_AGAIN_MS = 200;
/** A run whose session has ended for this long while nobody was told is taken to be lost. */
const LOST_MS = 30_000;
/** The host's lane for background turns: hook runs do not take the places of its owner's. */
const LANE = "subagent";
/** Sessions that one sweep removes. */
const SWEEP_STEP = 200;
/** Messages of a run's session that are looked at for what came of it. */
const MESSAGES = 50;

export interface OpenClawAgentsOptions {
  readonly pluginId: string;
  readonly config: () => OpenClawConfig;
  readonly subagent: OpenClawSubagent;
  readonly state: OpenClawState;
  /** Absent when the host does not tell of turns; `undefined` when it knows of none in this session. */
  readonly latestTurn?: (sessionKey: string) => LatestTurn | undefined;
  readonly logger: Logger;
}

/**
 * The host's agents. Each attempt has a session of its own, `agent:<id>:subagent:<attempt>`: the host
 * takes up no such session by itself after a crash, so that a run of ours is repeated by nobody else.
 */
export class OpenClawAgents implements HostAgents {
  readonly #options: OpenClawAgentsOptions;
  #toldOfThinking = false;

  constructor(options: OpenClawAgentsOptions) {
    this.#options = options;
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
    if (signal.aborted) return { status: "aborted", reply: "", error: "The run was aborted before it began." };
    const session = `agent:${request.agentId}:subagent:${sessionName(runId)}`;
    if ((await state.beginRun(runId, session)) === "repeated") {
      throw new HostError(`A run with the id ${JSON.stringify(runId)} has begun before.`, { retryable: false });
    }
    const hostRunId = await this.#begin(request, session);
    const result = await this.#end(request, { session, hostRunId });
    await this.#remember(runId);
    return result;
  }

  /** Ends what earlier processes of the gateway left: nothing goes on beside the next attempt. */
  async forgetLostRuns(): Promise<void> {
    for (const { id, session } of this.#options.state.openRuns()) {
      await this.#stop(session);
      await this.#remember(id);
    }
  }

  /** Removes some of the sessions in which runs were that ended long ago: the host keeps each for good. */
  async forgetOldSessions(): Promise<void> {
    const { state } = this.#options;
    for (const { id, session } of state.oldRuns({ limit: SWEEP_STEP })) {
      await this.#stop(session);
      await state.forgetSession(id);
    }
  }

  #catalog(): ReturnType<typeof agentCatalog> {
    return agentCatalog(this.#options.config(), this.#options.pluginId);
  }

  async #begin(request: AgentRunRequest, session: string): Promise<string> {
    const { subagent, state } = this.#options;
    this.#tellOfThinking(request);
    try {
      const { runId } = await subagent.run({
        sessionKey: session,
        message: request.prompt,
        deliver: false,
        lane: LANE,
        idempotencyKey: `${request.runId}#${Date.now().toString(36)}`,
        ...(request.model === undefined ? {} : { model: request.model }),
      });
      return runId;
    } catch (error) {
      await this.#stop(session);
      await state.undoRun(request.runId);
      throw neverBegan(error);
    }
  }

  /** Waits for the end, or makes one when the time is up or the caller says so. */
  async #end(request: AgentRunRequest, run: { session: string; hostRunId: string }): Promise<AgentRunResult> {
    const { timeoutMs, signal } = request;
    const deadline = AbortSignal.timeout(Math.min(timeoutMs, 2 ** 31 - 1));
    const ending = AbortSignal.any([signal, deadline]);
    const outcome = await this.#wait(run, ending);
    if (outcome !== undefined) return this.#resultOf(outcome, run.session);
    await this.#stop(run.session);
    return signal.aborted
      ? { status: "aborted", reply: "", error: "The run was aborted." }
      : { status: "timeout", reply: "", error: `The run was aborted after its ${timeoutMs} ms.` };
  }

  /** `undefined` once `ending` was fired. */
  async #wait(run: { session: string; hostRunId: string }, ending: AbortSignal): Promise<SubagentOutcome | undefined> {
    const ended = Promise.withResolvers<undefined>();
    ending.addEventListener("abort", () => ended.resolve(undefined), { once: true });
    while (!ending.aborted) {
      const askedAt = performance.now();
      const outcome = await Promise.race([ended.promise, this.#ask(run.hostRunId)]);
      if (outcome === undefined || isEnd(outcome)) return outcome;
      const left = this.#leftBehind(run.session);
      if (left !== undefined) return left;
      const rest = ASK_AGAIN_MS - (performance.now() - askedAt);
      if (rest > 0) await Promise.race([ended.promise, pause(rest)]);
    }
    return undefined;
  }

  /**
   * The end of a run that the host has lost: it says no more of it than of one that goes on, but its session
   * has ended. `undefined` while that is not so.
   */
  #leftBehind(session: string): SubagentOutcome | undefined {
    const { latestTurn, logger } = this.#options;
    const turn = latestTurn?.(session);
    if (turn?.endedAt === undefined || Date.now() - turn.endedAt < LOST_MS) return undefined;
    logger.warn({ session, status: turn.status }, "the host has told nobody of the end of a run");
    const { endedAt } = turn;
    if (turn.status === "done") return { status: "ok", endedAt };
    if (turn.status === "timeout") return { status: "timeout", endedAt };
    const error = `The host has lost the run; its session is ${turn.status ?? "ended"}.`;
    return { status: "error", error, endedAt };
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

  async #resultOf(outcome: SubagentOutcome, session: string): Promise<AgentRunResult> {
    const { subagent } = this.#options;
    const messages = async (): Promise<readonly unknown[]> => {
      const read = await subagent.getSessionMessages({ sessionKey: session, limit: MESSAGES }).catch(() => undefined);
      return read?.messages ?? [];
    };
    if (outcome.status === "ok") {
      const { terminalReply } = outcome;
      const reply = terminalReply === undefined ? lastReply(await messages()) : (terminalReply.text ?? "");
      return { status: "ok", reply };
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
    // What has answered or used a tool may have done something: it is not repeated by itself.
    const retryable = isPassing(error) && !sawAnswer(await messages());
    return { status: "error", reply: "", error, retryable };
  }

  /** Ends whatever runs in the session; a session that is not there is none. */
  async #stop(session: string): Promise<void> {
    try {
      await this.#options.subagent.deleteSession({ sessionKey: session });
    } catch (error) {
      this.#options.logger.debug({ err: error, session }, "the session of a run could not be removed");
    }
  }

  /** The result stands even when its end could not be stored. */
  async #remember(runId: string): Promise<void> {
    try {
      await this.#options.state.endRun(runId);
    } catch (error) {
      this.#options.logger.warn({ err: error, runId }, "the end of a run could not be stored");
    }
  }

  #tellOfThinking({ thinking }: AgentRunRequest): void {
    if (thinking === undefined || this.#toldOfThinking) return;
    this.#toldOfThinking = true;
    this.#options.logger.warn({ thinking }, "OpenClaw takes no thinking level from plugins: the agent's own is used");
  }
}

/** Readable, in the characters of a session key, and different for each run. */
function sessionName(runId: string): string {
  const name = runId.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return `${name.slice(0, 64)}-${hash("sha256", runId).slice(0, 12)}`;
}

/** Whether the run has ended: a `timeout` without an end of the run is only that of the wait. */
function isEnd({ status, endedAt, pendingError }: SubagentOutcome): boolean {
  if (status === "timeout") return endedAt !== undefined && pendingError !== true;
  return status !== "pending";
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined));
}
