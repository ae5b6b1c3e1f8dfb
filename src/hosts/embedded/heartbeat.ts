/** The heartbeat: when sessions get their turns. */
import type { Clock, HeartbeatRequest, Logger } from "../../core/host.ts";
import type { EmbeddedAgents } from "./agents.ts";
import { type HeartbeatOutcome, runHeartbeatTurn, type TurnParts } from "./heartbeat-turn.ts";
import type { EmbeddedChannels } from "./channels.ts";
import { EventWindow } from "./event-window.ts";
import { OutboxSender } from "./channels/outbox-sender.ts";
import type { GatewayConfig } from "./config/file.ts";
import type { EmbeddedSessions } from "./sessions.ts";

/** The times of turns; the defaults are those of the gateway. */
export interface HeartbeatTiming {
  /** Requests of one session that arrive within this time make one turn. */
  readonly coalesceMs: number;
  /** Waits before the turns that follow a failed one; their number bounds them. */
  readonly retryDelaysMs: readonly number[];
}

export const DEFAULT_HEARTBEAT_TIMING: HeartbeatTiming = {
  coalesceMs: 250,
  retryDelaysMs: [1_000, 5_000, 30_000, 120_000],
};

/** Sessions that can have asked for a turn at one time. */
const MAX_LANES = 1_000;
/** Reasons that one prompt names. */
const MAX_REASONS = 8;
const PERIODIC = "periodic";
const MAX_DELAY_MS = 2_147_483_647;
const LOOK_MS = 1_000;

interface SessionLane {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly reasons: Set<string>;
  /** Set while a turn is due. */
  timer: NodeJS.Timeout | undefined;
  /** Set while a turn is in progress. */
  turn: Promise<void> | undefined;
  /** True when a turn was asked for while one was in progress. */
  again: boolean;
  turns: number;
  failures: number;
  /** True when the database knows of the request. */
  remembered: boolean;
  readonly window: EventWindow;
}

/**
 * Gives sessions their turns: soon after a request, and every `agents.defaults.heartbeat.every`.
 * A session has one turn at a time. Events of a turn that failed stay pending: the turn is tried
 * again a few times, and the next heartbeat takes them.
 */
export class EmbeddedHeartbeat {
  readonly #gateway: TurnParts;
  readonly #timing: HeartbeatTiming;
  readonly #sender: OutboxSender;
  readonly #lanes = new Map<string, SessionLane>();
  readonly #aborting = new AbortController();
  #running = false;
  #periodic: NodeJS.Timeout | undefined;
  /** Looks for what other gateways have left. */
  #looking: NodeJS.Timeout | undefined;
  /** Requests that are taken up, by their sessions: one that changes is another one. */
  #taken: ReadonlyMap<string, string> = new Map();

  constructor(options: {
    sessions: EmbeddedSessions;
    agents: EmbeddedAgents;
    channels: EmbeddedChannels;
    config: () => GatewayConfig;
    clock: Clock;
    logger: Logger;
    timing?: HeartbeatTiming;
    sender?: OutboxSender;
  }) {
    this.#gateway = options;
    this.#timing = options.timing ?? DEFAULT_HEARTBEAT_TIMING;
    this.#sender = options.sender ?? new OutboxSender(options);
  }

  /** Takes up what the last process left, and begins the periodic heartbeat. */
  start(): void {
    this.#running = true;
    this.#sender.wake();
    for (const lane of this.#lanes.values()) {
      this.#schedule(lane, this.#timing.coalesceMs);
    }
    void this.#takeUpRequests();
    this.reschedule();
    if (!this.#gateway.sessions.areShared) return;
    this.#looking = setInterval(() => {
      this.#sender.wake();
      void this.#takeUpRequests();
    }, LOOK_MS);
  }

  async #takeUpRequests(): Promise<void> {
    const { sessions, logger } = this.#gateway;
    try {
      const requests = await sessions.requestedTurns();
      if (!this.#running) return;
      const taken = new Map<string, string>();
      for (const { pending, ...request } of requests) {
        const mark = `${pending} ${request.reason}`;
        taken.set(request.sessionKey, mark);
        if (this.#taken.get(request.sessionKey) !== mark) this.#requestTurn(request, "as it is");
      }
      this.#taken = taken;
    } catch (error) {
      logger.error(
        { err: error },
        "turns that were asked for earlier could not be read; the next heartbeat takes their events",
      );
    }
  }

  /** Begins a new period by the configuration active; called after a reload. */
  reschedule(): void {
    clearTimeout(this.#periodic);
    const everyMs = this.#gateway.config().agents.heartbeatEveryMs;
    if (this.#running && everyMs > 0) {
      this.#periodic = setTimeout(() => this.#requestPeriodicTurns(), Math.min(everyMs, MAX_DELAY_MS));
    }
  }

  /** Says that there may be something to send; the gateway that carries out the runs sends it. */
  wakeSender(): void {
    if (this.#running) this.#sender.wake();
  }

  /** Asks for a turn of the session soon. Returns at once; the request outlives the process. */
  request(request: HeartbeatRequest): void {
    this.#requestTurn(request, request.isStored === true ? "stored" : "to be stored");
  }

  /** True when a request for the session is on disk, or on its way there. */
  remembers(sessionKey: string): boolean {
    return this.#lanes.get(sessionKey)?.remembered ?? false;
  }

  /**
   * Begins no more turns, lets those in progress finish until `deadlineMs` (on the host's clock), then
   * aborts them; their events stay pending.
   */
  async stop(deadlineMs: number): Promise<void> {
    this.#running = false;
    clearTimeout(this.#periodic);
    clearInterval(this.#looking);
    for (const lane of this.#lanes.values()) {
      clearTimeout(lane.timer);
      lane.timer = undefined;
    }
    const leftMs = Math.max(0, deadlineMs - this.#gateway.clock.now());
    const deadline = setTimeout(() => this.#aborting.abort(), Math.min(leftMs, MAX_DELAY_MS));
    await Promise.all([...this.#lanes.values()].flatMap(({ turn }) => (turn === undefined ? [] : [turn])));
    await Promise.race([this.#sender.idle(), aborted(this.#aborting.signal)]);
    clearTimeout(deadline);
    await this.#sender.stop();
    this.#lanes.clear();
  }

  #requestPeriodicTurns(): void {
    const { agents, sessions } = this.#gateway;
    for (const { id } of agents.list()) {
      // The next process has its own.
      this.#requestTurn({ agentId: id, sessionKey: sessions.mainSessionKey(id), reason: PERIODIC }, "as it is");
    }
    this.reschedule();
  }

  #requestTurn(request: HeartbeatRequest, memory: "to be stored" | "stored" | "as it is"): void {
    const { agentId, sessionKey, reason } = request;
    if (!this.#running && this.#gateway.sessions.areShared) {
      this.#storeRequest(undefined, request);
      return;
    }
    const lane = this.#lanes.get(sessionKey) ?? this.#openLane(agentId, sessionKey);
    if (lane === undefined) {
      return;
    }
    if (!lane.remembered && memory === "to be stored") this.#storeRequest(lane, request);
    if (memory !== "as it is") lane.remembered = true;
    if (lane.reasons.size < MAX_REASONS) {
      lane.reasons.add(reason);
    }
    if (lane.turn !== undefined) {
      lane.again = true;
    } else if (lane.timer === undefined) {
      this.#schedule(lane, this.#timing.coalesceMs);
    }
  }

  #openLane(agentId: string, sessionKey: string): SessionLane | undefined {
    if (this.#lanes.size >= MAX_LANES) {
      this.#gateway.logger.warn({ sessionKey }, "too many sessions wait for a turn; this one waits for its next");
      return undefined;
    }
    const lane: SessionLane = {
      agentId,
      sessionKey,
      reasons: new Set(),
      timer: undefined,
      turn: undefined,
      again: false,
      turns: 0,
      failures: 0,
      remembered: false,
      window: new EventWindow(),
    };
    this.#lanes.set(sessionKey, lane);
    return lane;
  }

  #storeRequest(lane: SessionLane | undefined, request: HeartbeatRequest): void {
    const { sessionKey } = request;
    this.#gateway.sessions.storeTurnRequest(request).catch((error: unknown) => {
      if (lane !== undefined) lane.remembered = false;
      this.#gateway.logger.warn({ err: error, sessionKey }, "a heartbeat request could not be stored");
    });
  }

  #schedule(lane: SessionLane, delayMs: number): void {
    if (this.#running) {
      lane.timer = setTimeout(() => {
        lane.timer = undefined;
        lane.turn = this.#turn(lane);
      }, delayMs);
    }
  }

  async #turn(lane: SessionLane): Promise<void> {
    const reasons = [...lane.reasons];
    lane.reasons.clear();
    lane.again = false;
    const outcome = await this.#runTurn(lane, reasons);
    lane.turn = undefined;
    lane.turns += 1;
    this.#sender.wake();
    const delayMs = this.#nextDelay(lane, outcome);
    if (delayMs === undefined) {
      this.#lanes.delete(lane.sessionKey);
      return;
    }
    if (outcome !== "done") {
      // The next turn is for what this one was for.
      reasons.forEach((reason) => lane.reasons.add(reason));
    }
    this.#schedule(lane, delayMs);
  }

  async #runTurn(lane: SessionLane, reasons: readonly string[]): Promise<HeartbeatOutcome> {
    const { agentId, sessionKey, window } = lane;
    const eventsOnly = lane.turns > lane.failures && !reasons.includes(PERIODIC);
    const onStore = (): void => {
      lane.remembered = false;
    };
    const { signal } = this.#aborting;
    try {
      const turn = { agentId, sessionKey, reasons, eventsOnly, window, signal, onStore };
      return await runHeartbeatTurn(turn, this.#gateway);
    } catch (error) {
      this.#gateway.logger.error({ err: error, sessionKey }, "heartbeat turn could not be stored");
      return "failed";
    }
  }

  /** Time that the lane waits for its next turn; `undefined` when none is due. */
  #nextDelay(lane: SessionLane, outcome: HeartbeatOutcome): number | undefined {
    if (outcome === "failed") {
      const delayMs = this.#timing.retryDelaysMs[lane.failures];
      lane.failures += 1;
      if (delayMs !== undefined || !lane.again) return delayMs;
      // What came during the last try has its own.
      lane.failures = 0;
      return this.#timing.coalesceMs;
    }
    lane.failures = 0;
    if (outcome === "more") {
      return 0;
    }
    return lane.again ? this.#timing.coalesceMs : undefined;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener("abort", () => resolve(), { once: true });
    }
  });
}
