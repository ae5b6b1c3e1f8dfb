/** The embedded gateway's agents: turns of OpenAI-compatible models, of programs, or of the offline agent. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AgentCatalog,
  type AgentInfo,
  type AgentRunRequest,
  type AgentRunResult,
  type HostAgents,
  HostError,
  type Logger,
} from "../../core/host.ts";
import { textRights } from "../../core/agent-rights.ts";
import type { AgentTool } from "../../core/agent-tool.ts";
import type { AgentExposure, ExposedTurn } from "../../core/exposure.ts";
import type { ExtractionRequest } from "../../core/extraction.ts";
import { withInstructions } from "../../core/boundary/wrap-untrusted.ts";
import type { AgentConfig, GatewayConfig } from "./config/file.ts";
import type { EmbeddedSessions } from "./sessions.ts";
import { type TurnResult, withDeadline } from "./agents/deadline.ts";
import { exposureOf } from "./agents/exposure.ts";
import { extractionModel, runExtraction } from "./agents/extraction-turn.ts";
import type { AgentTurns } from "./agents/agent-turns.ts";
import { resolveModel } from "./agents/model-endpoint.ts";
import { ProviderBreaker, turnEnd } from "./agents/provider-breaker.ts";
import type { CheckOutgoing } from "../../core/outgoing/check-outgoing.ts";
import type { TurnMessage } from "./agents/turn.ts";

/** A turn of a session itself, with the conversation so far. */
export interface ConversationTurn {
  readonly agentId: string;
  readonly sessionKey: string;
  /** In order; the last one is the user's. */
  readonly messages: readonly TurnMessage[];
  /** True when the turn was given nothing to look at, as a periodic heartbeat. */
  readonly idle: boolean;
  /** `owner`: what is new in it is the owner's own message. */
  readonly trust: "owner" | "untrusted";
  readonly checkOutgoing?: CheckOutgoing | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The latest turns of its conversation that a persistent run sees; those before are left out. */
const EARLIER_TURNS = { limit: 20, maxChars: 65_536 };
/** A connection to the database that broke is back by then, and the next run of the conversation reads what was said. */
const END_RETRY_DELAYS_MS: readonly number[] = [250, 1_000, 5_000];
/** A run waits for the secret of its provider; a reload that reads it is noticed at the next try. */
const SET_ASIDE_WAIT_MS = 10_000;

/** A turn's place at a provider; it leaves with the result that it has, if any. */
interface ProviderPlace {
  readonly isProbe: boolean;
  leave(result: TurnResult | undefined): void;
}

/** Runs turns by the configuration of the moment at which each begins. */
export class EmbeddedAgents implements HostAgents {
  readonly #config: () => GatewayConfig;
  readonly #sessions: EmbeddedSessions;
  readonly #logger: Logger;
  readonly #turns: AgentTurns;
  readonly #breaker = new ProviderBreaker();
  #conversing = 0;

  constructor(options: { config: () => GatewayConfig; sessions: EmbeddedSessions; logger: Logger; turns: AgentTurns }) {
    this.#turns = options.turns;
    this.#config = options.config;
    this.#sessions = options.sessions;
    this.#logger = options.logger;
  }

  list(): readonly AgentInfo[] {
    return agentCatalog(this.#config()).list();
  }

  resolve(agentId: string | undefined): AgentInfo {
    return agentCatalog(this.#config()).resolve(agentId);
  }

  allowedModels(agentId: string): readonly string[] | undefined {
    return agentCatalog(this.#config()).allowedModels(agentId);
  }

  exposure(turn: ExposedTurn): AgentExposure {
    return agentCatalog(this.#config()).exposure(turn);
  }

  extractionProblem(of: { agentId: string; model: string | undefined }): string | undefined {
    return agentCatalog(this.#config()).extractionProblem(of);
  }

  offerTool(tool: AgentTool): void {
    this.#turns.offerTool(tool);
  }

  /** Asks a model for a form. Rejects with a `HostError` when its provider is down; nothing is stored. */
  async extract(request: ExtractionRequest): Promise<AgentRunResult> {
    const { model, timeoutMs } = request;
    if (request.signal.aborted) return { status: "aborted", reply: "", error: "It was aborted before it began." };
    const config = this.#config();
    const agent = knownAgent(config, request.agentId);
    const place = this.#enter(agent, model);
    if ("problem" in place) throw new HostError(place.problem, { retryable: true, retryAfterMs: place.waitMs });
    let result: TurnResult | undefined;
    try {
      result = await withDeadline(timeoutMs, request.signal, (signal) =>
        runExtraction(config, { ...request, agent, isProbe: place.isProbe, signal }, this.#logger),
      );
      return result;
    } finally {
      place.leave(result);
    }
  }

  /**
   * Runs one turn: the model sees the prompt and, unless the run is persistent, nothing of the session before
   * it. The prompt is on disk before the model is asked. Rejects with a `HostError` when the prompt could
   * not be stored or the model's provider is down, and permanently when a run with this id has begun before, or there
   * is no such agent.
   */
  async run(request: AgentRunRequest): Promise<AgentRunResult> {
    const { runId, sessionKey, timeoutMs, sessionMode } = request;
    const prompt = withInstructions(request.instructions, request.prompt);
    if (request.signal.aborted) {
      return { status: "aborted", reply: "", error: "The run was aborted before it began." };
    }
    const agent = knownAgent(this.#config(), request.agentId);
    const place = this.#enter(agent, request.model);
    if ("problem" in place) {
      throw new HostError(place.problem, { retryable: true, retryAfterMs: place.waitMs });
    }
    let result: TurnResult | undefined;
    try {
      const isKept = sessionMode === "persistent";
      const rights = isKept ? textRights(request) : undefined;
      if (!(await this.#sessions.beginRun({ sessionKey, runId, prompt, rights }))) {
        throw new HostError(`A run with the id ${JSON.stringify(runId)} has begun before.`, { retryable: false });
      }
      const earlier = isKept ? await this.#sessions.runTurns(sessionKey, EARLIER_TURNS) : [];
      const read = isKept ? await this.#sessions.rights(sessionKey) : [];
      const messages: TurnMessage[] = [...earlier, { role: "user", text: prompt }];
      const override = { model: request.model, thinking: request.thinking };
      result = await withDeadline(timeoutMs, request.signal, (signal, hold) =>
        this.#turns.run(agent, {
          messages,
          override,
          idle: false,
          isProbe: place.isProbe,
          trust: request.trust,
          permissions: request.permissions,
          egress: request.egress,
          tools: request.tools,
          workspace: request.workspace,
          memory: isKept ? this.#sessions.memory(sessionKey) : undefined,
          read,
          signal,
          onHold: (isHeld) => {
            hold(isHeld);
            request.onHold?.(isHeld);
          },
          traceparent: request.traceparent,
          checkOutgoing: request.checkOutgoing,
          mark: request.chain?.mark,
          of: { runId, sessionKey },
        }),
      );
    } finally {
      place.leave(result);
    }
    await this.#endTranscript(request, result);
    return result;
  }

  /** A turn begins at the provider of its model, unless that one is down. */
  #enter(agent: AgentConfig, override: string | undefined): ProviderPlace | { problem: string; waitMs: number } {
    if (agent.broken !== undefined) {
      return { problem: `The agent ${agent.id} is set aside (${agent.broken}).`, waitMs: SET_ASIDE_WAIT_MS };
    }
    const reference = override ?? agent.model;
    const model = reference === undefined ? undefined : resolveModel(this.#config(), reference);
    if (model === undefined) return { isProbe: false, leave: () => {} };
    if ("problem" in model) {
      return model.isSetAside
        ? { problem: model.problem, waitMs: SET_ASIDE_WAIT_MS }
        : { isProbe: false, leave: () => {} };
    }
    const { provider, providerId } = model;
    const entry = this.#breaker.enter(provider);
    if ("waitMs" in entry) {
      const problem = `The provider ${JSON.stringify(providerId)} is down; it is tried again in ${Math.ceil(entry.waitMs / 1_000)} s.`;
      return { problem, waitMs: entry.waitMs };
    }
    const leave = (result: TurnResult | undefined): void => {
      this.#breaker.ended(provider, entry, result === undefined ? "unknown" : turnEnd(result));
    };
    return { ...entry, leave };
  }

  /** Runs one turn of a conversation and stores nothing; rejects only when the session's rights cannot be read. */
  async converse(turn: ConversationTurn): Promise<TurnResult> {
    const { messages, idle, timeoutMs, sessionKey } = turn;
    const agent = this.#config().agents.list.find(({ id }) => id === turn.agentId);
    if (agent === undefined) return { status: "error", reply: "", error: unknownAgent(turn.agentId), retryable: true };
    const place = this.#enter(agent, undefined);
    if ("problem" in place) return { status: "error", reply: "", error: place.problem, retryable: true };
    this.#conversing += 1;
    let result: TurnResult | undefined;
    try {
      const read = await this.#sessions.rights(sessionKey);
      result = await withDeadline(timeoutMs, turn.signal, (signal, hold) =>
        this.#turns.run(agent, {
          messages,
          override: {},
          idle,
          isProbe: place.isProbe,
          trust: turn.trust,
          checkOutgoing: turn.checkOutgoing,
          memory: this.#sessions.memory(sessionKey),
          read,
          signal,
          onHold: hold,
          of: { sessionKey },
        }),
      );
      return result;
    } finally {
      this.#conversing -= 1;
      place.leave(result);
    }
  }

  /** Turns of conversations in progress; a session's turn waits for nothing but its own last one. */
  ownerTurns(): number {
    return this.#conversing;
  }

  /** The result stands even when its transcript could not be stored: the turn has taken effect. */
  async #endTranscript({ sessionKey, runId, signal }: AgentRunRequest, result: AgentRunResult): Promise<void> {
    const ok = result.status === "ok";
    const text = ok ? result.reply : (result.error ?? result.status);
    for (const delayMs of [...END_RETRY_DELAYS_MS, undefined]) {
      try {
        await this.#sessions.endRun({ sessionKey, runId, role: ok ? "assistant" : "error", text });
        return;
      } catch (error) {
        const isLast = delayMs === undefined || signal.aborted || !(error instanceof HostError && error.retryable);
        if (isLast) {
          this.#logger.warn({ err: error, runId, sessionKey }, "a run ended but its transcript could not be stored");
          return;
        }
        await sleep(delayMs, undefined, { signal }).catch(() => {});
      }
    }
  }
}

/** The agents and models of a configuration, which need not be active. */
export function agentCatalog(
  config: GatewayConfig,
): AgentCatalog & Required<Pick<AgentCatalog, "exposure" | "extractionProblem">> {
  const { list, allowedModels } = config.agents;
  return {
    list: () => list.map(({ id, isDefault }) => ({ id, isDefault })),
    resolve: (agentId) => {
      const { id, isDefault } = findAgent(config, agentId);
      return { id, isDefault };
    },
    allowedModels: () => allowedModels?.flatMap(({ ref, alias }) => (alias === undefined ? [ref] : [ref, alias])),
    exposure: (turn) => {
      const agent = findAgent(config, turn.agentId);
      return exposureOf(agent, `agents.list[${list.indexOf(agent)}]`, turn);
    },
    modelProblem: (model) => predicateOf(resolveModel(config, model)),
    extractionProblem: ({ agentId, model }) => predicateOf(extractionModel(config, findAgent(config, agentId), model)),
  };
}

function predicateOf(found: object): string | undefined {
  return "problem" in found ? String(found.problem).replace(/^Model | *\.$/gu, "") : undefined;
}

function findAgent({ agents }: GatewayConfig, agentId: string | undefined): AgentConfig {
  return agents.list.find(({ id }) => id === agentId) ?? agents.list.find(({ isDefault }) => isDefault)!;
}

/**
 * What was accepted for an agent is carried out by no other one, which may do more. Throws a `HostError` when the
 * configuration has it no more.
 */
function knownAgent({ agents }: GatewayConfig, agentId: string): AgentConfig {
  const found = agents.list.find(({ id }) => id === agentId);
  if (found === undefined) throw new HostError(unknownAgent(agentId), { retryable: false });
  return found;
}

function unknownAgent(agentId: string): string {
  return `The agent ${JSON.stringify(agentId)} is in the configuration no more, and no other one takes its place.`;
}
