/**
 * The host contract: everything the plugin asks of the gateway it runs in.
 *
 * A host implements {@link GatewayHost} once and passes `test/conformance/host`. What a real
 * gateway already does (sessions, agents, channels, secrets, logging) is asked of it here and
 * never rebuilt by the plugin.
 */
import type { AgentTool } from "./agent-tool.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AsyncSeriesHook, SyncHook } from "tapable";
import type { AgentActivity, Permissions, WorkspaceSpec } from "./agent-rights.ts";
import type { CheckOutgoing, CheckTurn } from "./outgoing/check-outgoing.ts";
import type { AgentExposure, AskedRights, ExposedTurn } from "./exposure.ts";
import type { ChannelInfo, HostChannels } from "./channels.ts";
import type { EventWrite, HeartbeatRequest, SystemEvent } from "./system-event.ts";
import type { Chain } from "./chain.ts";
import type { ExtractionRequest } from "./extraction.ts";
import type { Level } from "./level.ts";
import type { TokenUsage } from "./token-usage.ts";

export type { AskedRights } from "./exposure.ts";
export type { ChannelInfo, ChannelMessage, ChannelTarget, HostChannels, LastRoute } from "./channels.ts";
export type { EventWrite, HeartbeatRequest, SystemEvent } from "./system-event.ts";

/** A gateway as its plugins see it. Valid from `apply(host)` until `onShutdown` has returned. */
export interface GatewayHost {
  /** Short name for logs: `embedded`, `openclaw`. */
  readonly name: string;
  readonly lifecycle: HostLifecycle;
  readonly sessions: HostSessions;
  readonly agents: HostAgents;
  readonly channels: HostChannels;
  readonly logger: Logger;
  readonly paths: HostPaths;
  readonly clock: Clock;
}

/** The hooks a host owns and fires; a plugin taps them in `apply(host)` and nowhere else. */
export interface HostLifecycle {
  /**
   * A configuration was read. A tap validates and prepares, and hands the function that activates it to
   * `snapshot.onCommit`; a throw refuses the whole configuration and the previous one stays.
   */
  readonly onConfigLoad: AsyncSeriesHook<[ConfigSnapshot]>;
  /**
   * The routing table is built after the first commit and every later one. That of the previous commit serves
   * until this one is complete.
   */
  readonly onHttpRoute: SyncHook<[HttpRouter]>;
  /**
   * The host is stopping, or another host object has taken the place of this one. A tap stops taking requests,
   * lets go of what it holds, and returns before the deadline.
   */
  readonly onShutdown: AsyncSeriesHook<[ShutdownDeadline]>;
}

/** One configuration on its way into force. */
export interface ConfigSnapshot {
  /** The plugin's block (`hooks`) as written, unvalidated; `undefined` when it is absent. */
  readonly config: unknown;
  readonly reason: "start" | "reload";
  readonly gateway: GatewayFacts;
  /** Agents and models as they will be once this snapshot is committed. */
  readonly agents: AgentCatalog;
  /** Channels as they will be once this snapshot is committed. */
  readonly channels: readonly ChannelInfo[];
  /**
   * Registers the function that activates the prepared state. It is called once, synchronously and in
   * order of registration, after every tap has accepted the snapshot; it must not throw. Agents,
   * sessions and channels can be called from then on.
   */
  onCommit(commit: () => void): void;
}

/** Facts about the gateway that decide what a safe ingress configuration is. */
export interface GatewayFacts {
  /** Every secret of the gateway itself; the hook token must differ from all of them. */
  readonly secrets: readonly string[];
  /** True when the gateway listens on loopback addresses only. */
  readonly loopbackOnly: boolean;
  /** Addresses and CIDR blocks whose forwarded headers are believed. */
  readonly trustedProxies: readonly string[];
  /** True when a system event can be the owner's own message ({@link SystemEvent.owner}); when it subscribes to events. */
  readonly takesOwnerMessages?: boolean;
  readonly holdsSubscriptions?: boolean;
  /** The keys of agents that may do everything in a run of a hook. */
  readonly unrestrictedAgents?: readonly string[];
}

/** A point in time by which a shutdown has to be finished. */
export interface ShutdownDeadline {
  /** Milliseconds since the epoch, on the host's clock. */
  readonly deadlineMs: number;
}

/** The registry of a plugin's HTTP routes. */
export interface HttpRouter {
  /**
   * Adds a route. `prefix` takes the path itself and everything below it (`/hooks`, `/hooks/x`, not `/hooksx`);
   * `exact` takes the path alone. The pathname is compared as sent, never percent-decoded. A second route for the
   * same path and match throws.
   */
  register(route: HttpRoute): void;
}

/** A route: plain Node request and response, body unread. */
export interface HttpRoute {
  readonly path: string;
  readonly match: "prefix" | "exact";
  handler(req: IncomingMessage, res: ServerResponse): void | Promise<void>;
}

/** The gateway's conversations. */
export interface HostSessions {
  /** The key of an agent's main session, for example `agent:main:main`. */
  mainSessionKey(agentId: string): string;
  /**
   * Puts a line before the agent at the session's next turn. Resolves when the event is as durable as the host can
   * make it. Calls take effect in the order in which they were made, and a second event with the same idempotency key
   * is dropped, even after the first was consumed. Resolves with `waiting` for an event that no turn has taken yet,
   * when {@link onEventsTaken} is going to report it. Rejects with a {@link HostError}.
   */
  enqueueSystemEvent(event: SystemEvent): Promise<void | "waiting">;
  /**
   * Gives the write of an event, and of the request for a turn that follows it, for a store on the host's own database,
   * so that one commit accepts a call and carries it out. `undefined`: the event is to be enqueued by itself.
   */
  eventWrite?(event: SystemEvent, turn: HeartbeatRequest | undefined): EventWrite | undefined;
  /** Registers a listener for events that turns have taken, by their idempotency keys. */
  onEventsTaken?(listener: (idempotencyKeys: readonly string[]) => void): void;
  /** Drops an event that no turn has taken. One that a turn is about to take may reach the agent all the same. */
  withdrawSystemEvent?(idempotencyKey: string): Promise<void>;
  /**
   * Takes the check of what turns of the host's own let out: of a reply before it is sent, of the arguments of a tool
   * before it is called. It holds from then on, by the configuration of the moment.
   */
  checkOutgoing?(check: CheckTurn): void;
  /** Asks for a turn of the session soon; requests that arrive together make one turn. */
  requestHeartbeat(request: HeartbeatRequest): void;
}

/** The agents that a configuration defines. */
export interface AgentCatalog {
  list(): readonly AgentInfo[];
  /** The agent with that id, or the default agent when the id is unknown or absent. */
  resolve(agentId: string | undefined): AgentInfo;
  /** Model references that runs may use, or `undefined` when no allowlist is enforced. */
  allowedModels(agentId: string): readonly string[] | undefined;
  /** The reason why no run can use a model, as the predicate of a sentence; absent: the host cannot say. */
  modelProblem?(model: string): string | undefined;
  /** What an agent can reach by itself in such a turn; absent: the host cannot say. */
  exposure?(turn: ExposedTurn): AgentExposure;
  /** The reason why the host cannot hold a run, or a wake, to these rights, as a predicate; absent: it can. */
  rightsProblem?(asked: AskedRights): string | undefined;
  /**
   * The reason why {@link HostAgents.extract} cannot be used, as the predicate of a sentence. Without a model, that of
   * the agent is meant. Absent: the host cannot run a model that is certain to have no tools, memory and channels.
   */
  extractionProblem?(of: { readonly agentId: string; readonly model: string | undefined }): string | undefined;
}

export interface AgentInfo {
  readonly id: string;
  readonly isDefault: boolean;
}

/** The gateway's agents. */
export interface HostAgents extends AgentCatalog {
  /**
   * Runs one isolated turn: a fresh transcript under the session key. Resolves with what came of it, also when the run
   * failed, timed out or was aborted by `signal`; it rejects only with a {@link HostError}, when the run never began.
   */
  run(request: AgentRunRequest): Promise<AgentRunResult>;
  /**
   * Asks a model on its own to fill a form: without tools, memory, channels, session and the words of the agent, and
   * without a transcript. It resolves and rejects like {@link run}. Absent: the host cannot.
   */
  extract?(request: ExtractionRequest): Promise<AgentRunResult>;
  /** Turns of the owner's own conversations that wait or run; hook runs leave room for them. */
  ownerTurns?(): number;
  /** Takes a tool for the agents whose configuration allows it; absent: the host gives them none. */
  offerTool?(tool: AgentTool): void;
}

export interface AgentRunRequest {
  /** Unique for each attempt; a host never runs the same id twice. */
  readonly runId: string;
  readonly agentId: string;
  readonly sessionKey: string;
  /** What the agent is given, without its instructions. */
  readonly prompt: string;
  /**
   * The owner's own words to the agent, the only text of the request that is an order. The host puts them where it
   * puts what it trusts: into the system prompt, or before the prompt.
   */
  readonly instructions?: string | undefined;
  /**
   * `untrusted`: someone else wrote a part of the prompt, inside the boundary. The host grants the run nothing that
   * the agent may only do for its owner.
   */
  readonly trust: "untrusted";
  /** What is left of what the agent may do; it never raises that. Absent: all of it. A host without such rights ignores it. */
  readonly permissions?: Permissions | undefined;
  /** What is left of the hosts that the agent's programs can reach; absent: all of them. A host that cannot refuses it. */
  readonly egress?: readonly string[] | undefined;
  /** How far the owner trusts the person behind the event; absent: nothing is known. The rights above follow from it. */
  readonly level?: Level | undefined;
  /** The chain of events that the run is a part of, and the mark for what the run writes; see `core/chain.ts`. */
  readonly chain?: RunChain | undefined;
  /** Where the agent works; a host without workspaces refuses it. */
  readonly workspace?: WorkspaceSpec | undefined;
  /** Model reference `<provider>/<model>` or an alias; the agent's own model when absent. */
  readonly model?: string;
  readonly thinking?: string;
  /** `none`: the agent has no tools in this run. */
  readonly tools?: "none" | undefined;
  /** `persistent`: the run continues the conversation of its session key; a fresh transcript when absent. */
  readonly sessionMode?: "persistent" | undefined;
  /**
   * The reason why a text may not leave. The host asks it before each call of a tool that it carries out itself, and
   * denies the call; absent: everything may.
   */
  readonly checkOutgoing?: CheckOutgoing | undefined;
  /** The caller's `traceparent`, for what the run calls. */
  readonly traceparent?: string | undefined;
  /** The run is aborted after this many milliseconds, without those for which it was on hold. */
  readonly timeoutMs: number;
  /** Called with true when the run begins to wait for its owner, and with false when it goes on. */
  readonly onHold?: ((isHeld: boolean) => void) | undefined;
  readonly signal: AbortSignal;
}

/** 0 is the depth of a run that no other caused. */
export type RunChain = Chain & { readonly mark: string };

export interface AgentRunResult {
  readonly status: "ok" | "error" | "timeout" | "aborted";
  /** The agent's reply; empty when there is none. */
  readonly reply: string;
  /** The problem, for the gateway's owner; never holds a secret. */
  readonly error?: string;
  /** True when nothing came of the run and the same one may succeed later, as with an overloaded model. */
  readonly retryable?: boolean;
  /** With `retryable`: the model asks for so many milliseconds before it is asked again. */
  readonly retryAfterMs?: number | undefined;
  /** What the model counted; absent where the host does not know. */
  readonly usage?: TokenUsage | undefined;
  /** What the agent did, in order; absent where the host does not know. */
  readonly activity?: readonly AgentActivity[] | undefined;
}

/** The error of a host's call that did not take effect. */
export class HostError extends Error {
  override readonly name = "HostError";
  /** True when the same call may succeed later. */
  readonly retryable: boolean;
  /** With `retryable`: the host refuses the same call until these milliseconds have passed, so it waits elsewhere. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryable: boolean; retryAfterMs?: number; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The folders of a host. Both are absolute paths; the state directory is private (0700). */
export interface HostPaths {
  readonly configDir: string;
  readonly stateDir: string;
}

/** A structured logger in the manner of pino: fields first, then a sentence. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** A plugin of a gateway: the constructor validates and stores options, `apply` only taps. */
export interface GatewayPlugin {
  apply(host: GatewayHost): void;
}
