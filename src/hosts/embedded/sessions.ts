/** The embedded gateway's sessions: transcripts, system events and routes, all in its database. */
import type { CheckOutgoing, CheckTurn } from "../../core/outgoing/check-outgoing.ts";
import type { TurnMessage } from "./agents/turn.ts";
import type { TextRights } from "../../core/agent-rights.ts";
import type { AcpMemory } from "./agents/acp-agents.ts";
import type {
  ChannelTarget,
  Clock,
  EventWrite,
  HeartbeatRequest,
  HostSessions,
  LastRoute,
  SystemEvent,
} from "../../core/host.ts";
import type { GatewayConfig } from "./config/file.ts";
import type { PageQuery } from "./state/page-cursor.ts";
import { type EnqueueOutcome, SESSION_LIMITS, type TakeEvent } from "../shared/state-operations.ts";
import { enqueueEvent, shortKey } from "../shared/write-state.ts";
import type {
  EventPage,
  MessagePage,
  MessageQuery,
  OwnerMessages,
  PendingEvent,
  RequestedTurn,
  ConversationPart,
  SessionPage,
  TurnLimits,
} from "./state/session-reads.ts";
import { STATE_LIMITS } from "./state/operations.ts";
import type { AppendTurn, EndRun, ForgetRunsOutcome } from "./state/operations.ts";
import { LastRoutes } from "./state/last-routes.ts";
import { type StateStore, writeTo } from "./state/state-store.ts";

/** A run takes at most a day: what began before and has no end was cut off with its process. */
const MAX_RUN_MS = 24 * 3_600_000;

/**
 * Sessions as the host contract has them, without the heartbeat, and what the gateway itself needs
 * of them. Writes resolve when they would survive a power failure and reject with a
 * {@link HostError}; reads see every write that has resolved.
 */
export class EmbeddedSessions implements Omit<HostSessions, "requestHeartbeat" | "enqueueSystemEvent"> {
  readonly #state: StateStore;
  readonly #clock: Clock;
  readonly #config: () => GatewayConfig;
  readonly #routes: LastRoutes;
  #checkTurn: CheckTurn | undefined;

  constructor(options: { state: StateStore; clock: Clock; config: () => GatewayConfig }) {
    this.#state = options.state;
    this.#clock = options.clock;
    this.#config = options.config;
    this.#routes = new LastRoutes(options.state);
  }

  /** True: other gateways have the same sessions. */
  get areShared(): boolean {
    return this.#state.isShared;
  }

  /** Rejects where another gateway may have taken the place of this one. */
  confirmPlace(): Promise<void> {
    return this.#state.confirmPlace();
  }

  checkOutgoing(check: CheckTurn): void {
    this.#checkTurn = check;
  }

  /** The check of a turn that was given these messages; `undefined` without a plugin that has one. */
  outgoingCheck(messages: readonly TurnMessage[]): CheckOutgoing | undefined {
    const given = (): string => messages.map(({ role, text }) => (role === "user" ? text : "")).join("\n");
    return this.#checkTurn?.(given);
  }

  /** `agent:<id>:<session.mainKey>`. */
  mainSessionKey(agentId: string): string {
    return `agent:${agentId}:${this.#config().session.mainKey}`;
  }

  /** The full key of a session that was written short: `main`, `hook:ingress` are the default agent's. */
  fullKey(sessionKey: string): string {
    if (sessionKey.startsWith("agent:")) return sessionKey;
    const agent = this.#config().agents.list.find(({ isDefault }) => isDefault);
    return `agent:${agent?.id ?? ""}:${sessionKey}`;
  }

  /** The agent whose main session has that key, or `undefined`. */
  agentOfMainSession(sessionKey: string): string | undefined {
    return this.#config().agents.list.find(({ id }) => this.mainSessionKey(id) === sessionKey)?.id;
  }

  /**
   * Stores the event; one with a key that was stored before is dropped, for at least seven days
   * after it was consumed. With `filling` the caller is to ask for a turn. Rejects retryably when the session holds too
   * many pending events, and permanently when the text is too long: cutting it could cut the boundary around it.
   */
  async enqueueSystemEvent(event: SystemEvent): Promise<Exclude<EnqueueOutcome, "full">> {
    const { sessionKey, text, owner } = event;
    const rights = event.rights && JSON.stringify(event.rights);
    const outcome = await enqueueEvent(event, (key) => {
      const args = { sessionKey, text, key, owner, rights, at: this.#clock.now() };
      return writeTo(this.#state, "The system event", "enqueue", args);
    });
    if (owner !== undefined) this.#routes.forget(sessionKey);
    return outcome;
  }

  eventWrite(event: SystemEvent, turn: HeartbeatRequest | undefined): EventWrite | undefined {
    const operation = this.#state.operation("takeEvent");
    const { sessionKey, text, rights, owner } = event;
    if (operation === undefined || owner !== undefined || text.length > SESSION_LIMITS.maxEventChars) return undefined;
    const at = this.#clock.now();
    const key = shortKey(event.idempotencyKey);
    const args: TakeEvent = {
      event: { sessionKey, text, key, rights: rights && JSON.stringify(rights), at },
      turn: turn && { sessionKey, agentId: turn.agentId, reason: turn.reason, at },
    };
    return { operation, args, storesTurn: turn !== undefined };
  }

  /** Remembers that a turn was asked for, until the session's pending events are consumed. */
  async storeTurnRequest(request: HeartbeatRequest): Promise<void> {
    const { sessionKey, agentId, reason } = request;
    const args = { sessionKey, agentId, reason, at: this.#clock.now() };
    await writeTo(this.#state, "The heartbeat request", "requestTurn", args);
  }

  /** Turns that were asked for before the process ended, or by another one, and whose events still wait. */
  requestedTurns(): Promise<readonly RequestedTurn[]> {
    return this.#state.read("requestedTurns");
  }

  /**
   * Begins the transcript of a run; false when a run with this id has one. `rights` are what is left to later turns of
   * the session, for a run that they read.
   */
  async beginRun(run: {
    readonly sessionKey: string;
    readonly runId: string;
    readonly prompt: string;
    readonly rights?: TextRights | undefined;
  }): Promise<boolean> {
    const rights = run.rights && JSON.stringify(run.rights);
    const args = { ...run, rights, prompt: cutMessage(run.prompt), at: this.#clock.now() };
    return (await writeTo(this.#state, "The run", "beginRun", args)) === "begun";
  }

  /** Ends the transcript of an isolated run: its reply, or a note on why there is none. */
  async endRun(run: Omit<EndRun, "at">): Promise<void> {
    const args = { ...run, text: cutMessage(run.text), at: this.#clock.now() };
    await writeTo(this.#state, "The reply", "endRun", args);
  }

  /**
   * Stores a turn of the session itself and, in the same commit, consumes the events it was given
   * and puts its reply into the outbox. Until this has resolved the events are still pending.
   */
  async appendTurn(turn: Omit<AppendTurn, "at">): Promise<void> {
    const { user, assistant } = turn;
    const args = { ...turn, user: cutMessage(user), assistant: cutMessage(assistant), at: this.#clock.now() };
    await writeTo(this.#state, "The turn", "appendTurn", args);
  }

  /**
   * One short step of removing the messages of isolated runs that are older than the configuration keeps
   * them, and the oldest while they count for more bytes than it allows, with the sessions that have become
   * empty. What the sessions themselves said stays, and what belongs to a run in progress. `after` is where
   * the step before ended, 0 at first; `next` is `null` when nothing is left to do.
   */
  async forgetRuns(after: number): Promise<ForgetRunsOutcome> {
    const now = this.#clock.now();
    const { isolatedRetentionMs, isolatedMaxBytes } = this.#config().session;
    const step = {
      after,
      before: now - isolatedRetentionMs,
      maxBytes: isolatedMaxBytes ?? null,
      endedBefore: now - MAX_RUN_MS,
      now,
    };
    return writeTo(this.#state, "The removal of transcripts", "forgetRuns", step);
  }

  /** What the texts that the session has read leave of its agent's rights. */
  rights(sessionKey: string): Promise<readonly TextRights[]> {
    return this.#state.read("rights", sessionKey);
  }

  /** Where an agent with a memory of its own finds the session again. */
  memory(sessionKey: string): AcpMemory {
    return {
      of: sessionKey,
      read: () => this.#state.read("agentSession", sessionKey),
      write: (id) => {
        const args = { sessionKey, id, at: this.#clock.now() };
        return writeTo(this.#state, "The agent's session", "setAgentSession", args);
      },
    };
  }

  /** Sessions, newest activity first. Rejects with `InvalidCursorError`. */
  list(query: PageQuery): Promise<SessionPage> {
    return this.#state.read("list", query);
  }

  /** A session's messages, oldest first without an order; none for an unknown key. Rejects with `InvalidCursorError`. */
  messages(sessionKey: string, query: MessageQuery): Promise<MessagePage> {
    return this.#state.read("messages", sessionKey, query);
  }

  /** A session's pending events, oldest first. Rejects with `InvalidCursorError`. */
  pendingEvents(sessionKey: string, query: PageQuery): Promise<EventPage> {
    return this.#state.read("pendingEvents", sessionKey, query);
  }

  /** The pending events that one turn is given: the oldest that fit, at least one if there is one. */
  turnEvents(key: string, limits: TurnLimits): Promise<readonly PendingEvent[]> {
    return this.#state.read("turnEvents", key, limits);
  }

  /** What the owner wrote and no turn has taken, the oldest that fits. */
  ownerMessages(key: string, limits: TurnLimits): Promise<OwnerMessages | undefined> {
    return this.#state.read("ownerMessages", key, limits);
  }

  /** The latest messages of the session's own turns that fit, oldest first. */
  conversation(key: string, limits: TurnLimits): Promise<readonly ConversationPart[]> {
    return this.#state.read("conversation", key, limits);
  }

  /** The latest turns of hook runs in the session that were answered and fit, oldest first, as pairs of messages. */
  runTurns(key: string, limits: TurnLimits): Promise<readonly ConversationPart[]> {
    return this.#state.read("runTurns", key, limits);
  }

  /** Whom the agent's main session last talked to. */
  lastRoute(agentId: string): LastRoute | Promise<LastRoute> {
    return this.#routes.of(this.mainSessionKey(agentId));
  }

  /** Sets whom the agent's main session last talked to. */
  async setLastRoute(agentId: string, { channel, to }: ChannelTarget): Promise<void> {
    const sessionKey = this.mainSessionKey(agentId);
    const args = { sessionKey, channel, to, at: this.#clock.now() };
    await writeTo(this.#state, "The route", "setRoute", args);
    this.#routes.forget(sessionKey);
  }
}

function cutMessage(text: string): string {
  const over = text.length - STATE_LIMITS.maxMessageChars;
  return over <= 0
    ? text
    : `${text.slice(0, STATE_LIMITS.maxMessageChars).toWellFormed()}\n[${over} more characters were not kept]`;
}
