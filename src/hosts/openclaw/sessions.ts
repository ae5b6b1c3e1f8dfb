import type { HeartbeatRequest, HostSessions, SystemEvent } from "../../core/host.ts";
import { EventQueue } from "./event-queue.ts";
import type { EventQueueOptions } from "./event-queue.ts";
import type { OpenClawConfig } from "./sdk.ts";
import { agentCatalog, hostSession, mainKey } from "./read-config.ts";
import type { OpenClawState } from "./state.ts";

export interface OpenClawSessionsOptions extends Omit<EventQueueOptions, "state" | "hostSession" | "onTaken"> {
  readonly pluginId: string;
  readonly config: () => OpenClawConfig;
  readonly state: OpenClawState;
}

/**
 * The host's sessions. Events are kept here, on disk, until a turn has taken them: the host forgets
 * those in its queue when it stops, and all but the newest twenty.
 */
export class OpenClawSessions implements HostSessions {
  readonly #options: OpenClawSessionsOptions;
  readonly #queues = new Map<string, EventQueue>();
  readonly #listeners: ((idempotencyKeys: readonly string[]) => void)[] = [];
  #closed = false;

  constructor(options: OpenClawSessionsOptions) {
    this.#options = options;
  }

  /** `agent:<id>:<session.mainKey>`. */
  mainSessionKey(agentId: string): string {
    return `agent:${agentId}:${mainKey(this.#options.config())}`;
  }

  /**
   * Resolves when the event is on disk. Rejects retryably when the session holds too many, and permanently
   * when the text is too long: cutting it could cut the boundary around it.
   */
  async enqueueSystemEvent(event: SystemEvent): Promise<"waiting" | undefined> {
    const { idempotencyKey } = event;
    const session = this.#fullKey(event.sessionKey);
    const outcome = await this.#options.state.enqueueEvent({ ...event, sessionKey: session });
    this.#queueOf(session)?.nudge();
    const isTaken = outcome === "duplicate" && this.#options.state.waitingEvent(idempotencyKey) === undefined;
    return isTaken ? undefined : "waiting";
  }

  onEventsTaken(listener: (idempotencyKeys: readonly string[]) => void): void {
    this.#listeners.push(listener);
  }

  async withdrawSystemEvent(idempotencyKey: string): Promise<void> {
    const { state } = this.#options;
    const event = state.waitingEvent(idempotencyKey);
    if (event === undefined) return;
    await state.consumeEvents(event.session, [event.id]);
    this.#queueOf(event.session)?.nudge();
  }

  /** The request outlives a restart as long as events wait. */
  requestHeartbeat(request: HeartbeatRequest): void {
    const asked = { ...request, sessionKey: this.#fullKey(request.sessionKey) };
    this.#options.state.requestTurn(asked).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, reason: asked.reason }, "a heartbeat request could not be stored");
    });
    this.#queueOf(asked.sessionKey)?.nudge(asked);
  }

  /** Takes up what waited when the gateway stopped. */
  start(): void {
    const { state } = this.#options;
    const requests = new Map(state.requestedTurns().map((request) => [request.sessionKey, request]));
    for (const session of state.waitingSessions()) this.#queueOf(session)?.nudge(requests.get(session));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#queues.values()].map((handover) => handover.close()));
    this.#queues.clear();
  }

  #queueOf(session: string): EventQueue | undefined {
    if (this.#closed) return undefined;
    const known = this.#queues.get(session);
    if (known !== undefined) return known;
    for (const [other, handover] of this.#queues) if (handover.isIdle) this.#queues.delete(other);
    const handover = new EventQueue(session, {
      ...this.#options,
      onTaken: (keys) => this.#listeners.forEach((listener) => listener(keys)),
      hostSession: (key) => hostSession(this.#options.config(), key),
    });
    this.#queues.set(session, handover);
    return handover;
  }

  /** The full key of a session that was written short: `main` is the default agent's. */
  #fullKey(sessionKey: string): string {
    if (sessionKey.startsWith("agent:")) return sessionKey;
    const { config, pluginId } = this.#options;
    return `agent:${agentCatalog(config(), pluginId).resolve(undefined).id}:${sessionKey}`;
  }
}
