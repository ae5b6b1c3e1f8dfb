/** One turn of any kind of agent: its rights, its workspace, and what carries it out. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentTool } from "../../../core/agent-tool.ts";
import type { Clock, Logger } from "../../../core/host.ts";
import type { AgentConfig, GatewayConfig } from "../config/file.ts";
import type { ProgramConfig, ProgramRuntime } from "../config/runtime.ts";
import type { ProgramStart } from "../programs/program.ts";
import { AcpAgents } from "./acp-agents.ts";
import type { AgentTurn, TurnOutcome } from "./agent-turn.ts";
import type { Approvals } from "./approvals.ts";
import { runCommandTurn } from "./command-turn.ts";
import { copiesOf, workspacesOf } from "./copies.ts";
import { quoteReference, resolveModel } from "./model-endpoint.ts";
import { type ModelTurnLimits, runModelTurn } from "./model-turn.ts";
import type { ModelOutcome } from "./turn.ts";
import { acknowledgeOffline, answerOffline } from "./offline.ts";
import { allowsAll, carriedBy, commonHosts, isReadOnly, loweredPermissions, ownPermissions } from "./permissions.ts";
import { asksOutward, isOutward } from "./exposure.ts";
import { RunRights } from "./run-rights.ts";
import type { GrantedTool } from "./gateway-tool.ts";
import { ToolEndpoint, withGrant } from "./tool-endpoint.ts";
import { NO_SERVERS, ToolBox, ToolServerError } from "./tool-servers.ts";
import { openWorkspace, type Workspace, WorkspaceError } from "./workspace.ts";

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
  /** The gateway's own tool, where the turn may use it. */
  readonly granted: GrantedTool | undefined;
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
  readonly #endpoint: ToolEndpoint;
  #tool: AgentTool | undefined;

  constructor(options: AgentTurnsOptions) {
    this.#options = options;
    this.#acp = new AcpAgents(options.logger);
    this.#endpoint = new ToolEndpoint(options.logger);
  }

  /** See {@link "../../../core/host".HostAgents.offerTool}. */
  offerTool(tool: AgentTool): void {
    this.#tool = tool;
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
    const tool = agent.waits && turn.tools !== "none" ? this.#tool : undefined;
    if (runtime === undefined && tools === undefined && (tool === undefined || turn.workspace !== undefined)) {
      if (turn.workspace !== undefined) return { error: `The agent ${agent.id} has no tools to use a workspace with.` };
      return this.#askModel(agent, turn, undefined);
    }
    const workspaces = workspacesOf(this.#options.stateDir, agent.id);
    let workspace: Workspace | undefined;
    try {
      workspace = await this.#workspace(turn, workspaces);
    } catch (error) {
      const isUnasked = true;
      if (error instanceof WorkspaceError) return { error: error.message, retryable: error.retryable, isUnasked };
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
        granted: tool && { tool, rights, user: { agentId: agent.id, ...turn.of, rights: carriedBy(turn) } },
        places: { home: join(folder, "home"), cwd, copies: copiesOf(workspaces) },
        isReadOnly: [own, ...lowered].some((each) => isReadOnly(each, runtime)),
      });
      return withActivity(outcome, rights);
    } finally {
      await workspace?.release();
    }
  }

  /** Ends what is kept warm. */
  async close(): Promise<void> {
    await this.#acp.close();
    await this.#endpoint.close();
  }

  async #workspace({ workspace, signal, of, memory }: AgentTurn, folder: string): Promise<Workspace | undefined> {
    if (workspace === undefined) return undefined;
    const { sessionKey, runId } = of;
    return openWorkspace(workspace, { folder, sessionKey, runId, isKept: memory !== undefined, signal });
  }

  async #carryOut(prepared: Prepared): Promise<ModelOutcome> {
    const { agent, turn, granted } = prepared;
    if (agent.runtime !== undefined) {
      if (turn.override.model !== undefined) {
        return { error: `The agent ${agent.id} is a program; it takes no model.` };
      }
      return agent.runtime.type === "acp"
        ? this.#runAcp(agent.runtime, prepared)
        : this.#runCommand(agent.runtime, prepared);
    }
    const hasNone = agent.tools === undefined && granted === undefined;
    if (hasNone || turn.tools === "none") return this.#askModel(agent, turn, undefined);
    const tools = agent.tools ?? NO_SERVERS;
    let box: ToolBox;
    try {
      box = await ToolBox.open(tools, {
        granted,
        rights: prepared.rights,
        signal: turn.signal,
        startOf: (_name, program) => this.#startOf(program, prepared, prepared),
      });
    } catch (error) {
      if (turn.signal.aborted) return { error: "The turn was aborted." };
      if (error instanceof ToolServerError) return { error: error.message, retryable: true, isUnasked: true };
      throw error;
    }
    try {
      return await this.#askModel(agent, turn, { box, maxSteps: tools.maxSteps });
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
    const { agent, turn, granted } = prepared;
    if (turn.permissions === "ask" || typeof turn.permissions === "object") {
      return {
        error: `The agent ${agent.id} is a command, which cannot be asked act by act: write deny, reads or all as the permissions that the mapping or the level leaves.`,
      };
    }
    const grant = granted && (await this.#endpoint.grant(granted));
    try {
      return await runCommandTurn({
        start: withGrant(this.#startOf(runtime, prepared, prepared), grant),
        messages: turn.messages,
        systemPrompt: agent.systemPrompt,
        signal: turn.signal,
        maxReplyChars: this.#options.limits.maxReplyChars,
      });
    } finally {
      grant?.end();
    }
  }

  async #runAcp(runtime: ProgramRuntime, prepared: Prepared): Promise<ModelOutcome> {
    const { agent, turn, rights, granted, places, isReadOnly: isWithoutWrites } = prepared;
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
    // All turns of the process can reach the endpoint, and one that is granted nothing has no token for it.
    const egress = agent.waits ? [...start.egress, await this.#endpoint.host()] : start.egress;
    const grant = granted && (await this.#endpoint.grant(granted));
    try {
      return await this.#acp.run({
        key: JSON.stringify([agent.id, runtime, egress, isWithoutWrites, path]),
        start: { ...start, egress, config: { ...start.config, read } },
        cwd: places.cwd,
        messages: turn.messages,
        systemPrompt: agent.systemPrompt,
        memory: turn.memory,
        grant,
        rights,
        signal: turn.signal,
        maxReplyChars: this.#options.limits.maxReplyChars,
      });
    } finally {
      grant?.end();
    }
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
