/** One turn of any kind of agent: its rights, its workspace, and what carries it out. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentActivity, Permissions, TextRights, WorkspaceSpec } from "../../../core/agent-rights.ts";
import type { Clock, Logger } from "../../../core/host.ts";
import type { CheckOutgoing } from "../../../core/outgoing/check-outgoing.ts";
import type { AgentConfig, GatewayConfig } from "../config/file.ts";
import type { ProgramConfig, ProgramRuntime } from "../config/runtime.ts";
import type { ProgramStart } from "../programs/program.ts";
import { AcpAgents, type AcpMemory } from "./acp-agents.ts";
import type { Approvals } from "./approvals.ts";
import { runCommandTurn } from "./command-turn.ts";
import { copiesOf, workspacesOf } from "./copies.ts";
import { quoteReference, resolveModel } from "./model-endpoint.ts";
import { type ModelTurnLimits, runModelTurn } from "./model-turn.ts";
import type { ModelOutcome, TurnIds, TurnMessage } from "./turn.ts";
import { acknowledgeOffline, answerOffline } from "./offline.ts";
import { allowsAll, commonHosts, loweredPermissions, ownPermissions } from "./permissions.ts";
import { asksOutward, isOutward } from "./exposure.ts";
import { RunRights } from "./run-rights.ts";
import { ToolBox, ToolServerError } from "./tool-servers.ts";
import { openWorkspace, type Workspace, WorkspaceError } from "./workspace.ts";

/** A turn of an agent, of a run or of a conversation. */
export interface AgentTurn {
  readonly messages: readonly TurnMessage[];
  readonly override: { readonly model?: string | undefined; readonly thinking?: string | undefined };
  /** True when the turn was given nothing to look at, as a periodic heartbeat. */
  readonly idle: boolean;
  /** True: the provider was down, and one request shows whether it still is. */
  readonly isProbe: boolean;
  /** `owner`: what is new in it is the owner's own message; the conversation before it may hold what others wrote. */
  readonly trust: "owner" | "untrusted";
  /** What a mapping leaves of the agent's permissions. */
  readonly permissions?: Permissions | undefined;
  /** What is left of the agent's rights after what its session has read before. */
  readonly read: readonly TextRights[];
  readonly tools?: "none" | undefined;
  /** What is left of the hosts that the agent's programs can reach; absent: all of them. */
  readonly egress?: readonly string[] | undefined;
  readonly workspace?: WorkspaceSpec | undefined;
  /** Where an agent with a memory of its own finds the session again; absent: the turn is on its own. */
  readonly memory?: AcpMemory | undefined;
  readonly signal: AbortSignal;
  /** Called around each wait for the owner. */
  readonly onHold: (isHeld: boolean) => void;
  readonly traceparent?: string | undefined;
  /** Why a text may not leave; absent: it may. */
  readonly checkOutgoing?: CheckOutgoing | undefined;
  /** Of what the turn writes, for programs that can add it. */
  readonly mark?: string | undefined;
  readonly of: Omit<TurnIds, "agentId">;
}

export type TurnOutcome = ModelOutcome & { readonly activity?: readonly AgentActivity[] };

interface AgentTurnsOptions {
  readonly config: () => GatewayConfig;
  readonly approvals: Approvals;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Absolute; programs have their folders in it. */
  readonly stateDir: string;
  readonly limits: ModelTurnLimits;
}

/** What a turn is carried out with. */
interface Prepared {
  readonly agent: AgentConfig;
  readonly turn: AgentTurn;
  readonly rights: RunRights;
  /** Where nothing but reading is allowed, the working directory cannot be written either. */
  readonly isReadOnly: boolean;
  readonly places: AgentPlaces;
}

/** The folders of an agent, absolute. */
interface AgentPlaces {
  readonly home: string;
  /** Where the turn works. */
  readonly cwd: string;
  /** Where its working copies are. */
  readonly copies: string;
}

export class AgentTurns {
  readonly #options: AgentTurnsOptions;
  readonly #acp: AcpAgents;

  constructor(options: AgentTurnsOptions) {
    this.#options = options;
    this.#acp = new AcpAgents(options.logger);
  }

  /** Runs one turn; never rejects. */
  async run(agent: AgentConfig, turn: AgentTurn): Promise<TurnOutcome> {
    const { allowUntrusted, runtime, tools } = agent;
    const lowered = loweredPermissions(turn);
    if (allowsAll(agent.permissions, lowered) && !allowUntrusted && turn.of.runId !== undefined) {
      return {
        error: `The agent ${agent.id} may do everything, so it takes no runs of hooks: lower the mapping's permissions, or set allowUntrusted on the agent.`,
      };
    }
    if (runtime === undefined && tools === undefined) {
      if (turn.workspace !== undefined) return { error: `The agent ${agent.id} has no tools to use a workspace with.` };
      return this.#askModel(agent, turn, undefined);
    }
    const workspaces = workspacesOf(this.#options.stateDir, agent.id);
    let workspace: Workspace | undefined;
    try {
      workspace = await this.#workspace(turn, workspaces);
    } catch (error) {
      if (error instanceof WorkspaceError) return { error: error.message };
      throw error;
    }
    const folder = join(this.#options.stateDir, "agents", agent.id);
    const cwd = workspace?.cwd ?? runtime?.cwd ?? join(folder, "work");
    const isConversation = turn.of.runId === undefined;
    const own = ownPermissions(agent, { trust: turn.trust, isRun: !isConversation });
    const rights = new RunRights({
      own,
      lowered,
      isWithOwner: turn.trust === "owner" && runtime?.type !== "command",
      alsoAsks: isConversation && asksOutward(agent) ? (act) => isOutward(agent, act) : undefined,
      approvals: this.#options.approvals,
      approvalTimeoutMs: agent.approvalTimeoutMs,
      of: { agentId: agent.id, ...turn.of },
      cwd,
      checkOutgoing: turn.checkOutgoing,
      clock: this.#options.clock,
      signal: turn.signal,
      onHold: turn.onHold,
    });
    try {
      const outcome = await this.#carryOut({
        agent,
        turn,
        rights,
        places: { home: join(folder, "home"), cwd, copies: copiesOf(workspaces) },
        isReadOnly: [own, ...lowered].some((each) => each === "deny" || each === "reads"),
      });
      return withActivity(outcome, rights);
    } finally {
      await workspace?.release();
    }
  }

  /** Ends what is kept warm. */
  close(): Promise<void> {
    return this.#acp.close();
  }

  async #workspace({ workspace, signal, of, memory }: AgentTurn, folder: string): Promise<Workspace | undefined> {
    if (workspace === undefined) return undefined;
    const { sessionKey, runId } = of;
    return openWorkspace(workspace, { folder, sessionKey, runId, isKept: memory !== undefined, signal });
  }

  async #carryOut(prepared: Prepared): Promise<ModelOutcome> {
    const { agent, turn } = prepared;
    if (agent.runtime !== undefined) {
      if (turn.override.model !== undefined) {
        return { error: `The agent ${agent.id} is a program; it takes no model.` };
      }
      return agent.runtime.type === "acp"
        ? this.#runAcp(agent.runtime, prepared)
        : this.#runCommand(agent.runtime, prepared);
    }
    if (agent.tools === undefined || turn.tools === "none") return this.#askModel(agent, turn, undefined);
    let box: ToolBox;
    try {
      box = await ToolBox.open(agent.tools, {
        rights: prepared.rights,
        signal: turn.signal,
        startOf: (_name, program) => this.#startOf(program, prepared, prepared),
      });
    } catch (error) {
      if (turn.signal.aborted) return { error: "The turn was aborted." };
      if (error instanceof ToolServerError) return { error: error.message, retryable: true };
      throw error;
    }
    try {
      return await this.#askModel(agent, turn, { box, maxSteps: agent.tools.maxSteps });
    } finally {
      await box.close();
    }
  }

  async #askModel(
    agent: AgentConfig,
    { messages, override, idle, isProbe, signal, traceparent, of }: AgentTurn,
    tools: { readonly box: ToolBox; readonly maxSteps: number } | undefined,
  ): Promise<ModelOutcome> {
    const config = this.#options.config();
    const { allowedModels } = config.agents;
    const isAllowed = allowedModels?.some(({ ref, alias }) => ref === override.model || alias === override.model);
    if (override.model !== undefined && isAllowed === false) {
      return { error: `The model ${quoteReference(override.model)} is not in agents.defaults.models.` };
    }
    const reference = override.model ?? agent.model;
    if (reference === undefined) {
      return { reply: idle ? acknowledgeOffline() : answerOffline(messages.at(-1)?.text ?? "") };
    }
    const model = resolveModel(config, reference);
    if ("problem" in model) return { error: model.problem };
    const { limits, logger } = this.#options;
    return runModelTurn(
      {
        model,
        systemPrompt: agent.systemPrompt,
        messages,
        thinking: override.thinking ?? agent.thinking,
        signal,
        traceparent,
        tools,
        of: { agentId: agent.id, ...of },
      },
      { logger, limits: isProbe ? { ...limits, retryDelaysMs: [] } : limits },
    );
  }

  async #runCommand(runtime: ProgramRuntime, prepared: Prepared): Promise<ModelOutcome> {
    const { agent, turn } = prepared;
    if (turn.permissions === "ask" || typeof turn.permissions === "object") {
      return {
        error: `The agent ${agent.id} is a command, which cannot be asked act by act: write deny, reads or all as the permissions that the mapping or the level leaves.`,
      };
    }
    return runCommandTurn({
      start: this.#startOf(runtime, prepared, prepared),
      messages: turn.messages,
      systemPrompt: agent.systemPrompt,
      signal: turn.signal,
      maxReplyChars: this.#options.limits.maxReplyChars,
    });
  }

  async #runAcp(runtime: ProgramRuntime, prepared: Prepared): Promise<ModelOutcome> {
    const { agent, turn, rights, places, isReadOnly: isWithoutWrites } = prepared;
    const { path } = turn.workspace ?? {};
    // A folder that is not there when the process starts stays closed to it.
    await mkdir(places.copies, { recursive: true, mode: 0o700 });
    // The process outlives the turn, so it gets no run's data, and may write in every copy that it is given.
    const start = this.#startOf(
      { ...runtime, write: isWithoutWrites ? runtime.write : [...runtime.write, path ?? places.copies] },
      { ...prepared, places: { ...places, cwd: runtime.cwd ?? path ?? join(dirname(places.home), "work") } },
      { isReadOnly: isWithoutWrites, isShared: true },
    );
    const read = [...start.config.read, path ?? places.copies];
    return this.#acp.run({
      key: JSON.stringify([agent.id, runtime, start.egress, isWithoutWrites, path]),
      start: { ...start, config: { ...start.config, read } },
      cwd: places.cwd,
      messages: turn.messages,
      systemPrompt: agent.systemPrompt,
      memory: turn.memory,
      rights,
      signal: turn.signal,
      maxReplyChars: this.#options.limits.maxReplyChars,
    });
  }

  #startOf(
    config: ProgramConfig,
    { agent, turn, rights, places }: Prepared,
    { isReadOnly, isShared = false }: { readonly isReadOnly: boolean; readonly isShared?: boolean },
  ): ProgramStart {
    const { sessionKey, runId } = turn.of;
    const { file, secretFiles } = this.#options.config();
    return {
      config,
      cwd: config.cwd !== undefined && turn.workspace === undefined ? config.cwd : places.cwd,
      isReadOnly,
      home: places.home,
      egress: turn.read.reduce(
        (hosts, { egress }) => commonHosts(hosts, egress),
        commonHosts(agent.egress, turn.egress),
      ),
      ofGateway: [this.#options.stateDir, dirname(file), ...secretFiles],
      variables: {
        REVEILLE_AGENT: agent.id,
        ...(isShared ? {} : { REVEILLE_SESSION: sessionKey }),
        ...(isShared || runId === undefined ? {} : { REVEILLE_RUN: runId }),
        ...(isShared || turn.mark === undefined ? {} : { REVEILLE_MARK: turn.mark }),
      },
      onRefusedHost: (host) => rights.refusedHost(host),
    };
  }
}

/** A reply that is empty because something was denied is no reply. */
function withActivity(outcome: ModelOutcome, { activity, denied }: RunRights): TurnOutcome {
  const kept = activity.length === 0 ? {} : { activity };
  if ("reply" in outcome && outcome.reply.trim() === "" && denied !== undefined) {
    const { usage } = outcome;
    return { error: `denied: ${denied}`, ...(usage && { usage }), ...kept };
  }
  return { ...outcome, ...kept };
}
