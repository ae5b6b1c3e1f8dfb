import { setTimeout as sleep } from "node:timers/promises";
import {
  ANSWER_MARGIN_MS,
  type SharedTurns,
  type TurnOffer,
  type TurnPlace,
  type TurnsSeen,
} from "../../storage/shared-store.ts";
import type { ActiveRun, DispatchContext } from "../context.ts";
import { type OpenAttempt, runAttempt } from "../run/attempt-turn.ts";
import type { NotBegun } from "../run/agent-turn.ts";
import { HandedTurns } from "./handed-turns.ts";
import { TakenTurns } from "./taken-turns.ts";
import { recordBegin, type TurnEnd, type Turns } from "./turns.ts";

/** How often a gateway looks while turns are on their way, and while none is. */
const LOOK_MS = 250;
const IDLE_LOOK_MS = 1_000;
/** After a look during which something came: turns that come and end together are seen together. */
const LATE_LOOK_MS = 10;
const REFRESH_MS = 1_000;
/** By then every gateway has looked. */
const LOOKED_MS = IDLE_LOOK_MS + LOOK_MS;
const CUT_OFF = "its gateway was cut off from the database";
const STOPPED = "its gateway stopped";

export interface TurnExchangeOptions {
  readonly shared: SharedTurns;
  /** By the active configuration; `undefined` before there is one. */
  readonly offer: () => TurnOffer | undefined;
  /** True: this gateway has the runs, and is handed no turn. */
  readonly leads: () => boolean;
  /** Others take more or fewer turns than before. */
  readonly changed: () => void;
}

/**
 * Shares the turns of agents with other gateways on the store: the one with the runs hands each to the gateway that has
 * the most room, itself among them. What a gateway had that is lost is carried out again.
 */
export class TurnExchange implements Turns {
  readonly #options: TurnExchangeOptions;
  readonly #handed: HandedTurns;
  readonly #taken: TakenTurns;
  /** Turns that this gateway keeps, from the choice on: others are chosen for what comes at the same time. */
  #chosen = 0;
  /** Turns of its own runs, under way or waiting for room here, by what cuts them off. */
  readonly #own = new Set<() => void>();
  /** Of these, under way. */
  #underWay = 0;
  /** The others. */
  readonly #line: (() => void)[] = [];
  #context: DispatchContext | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;
  #places: readonly TurnPlace[] = [];
  #place: number | undefined;
  /** When the latest look was asked for, and the latest that was answered, on the clock of the process. */
  #askedMs = -Infinity;
  #seenMs = performance.now();
  #isLooking = false;
  #isCutOff = false;
  /** Of the latest look that failed. */
  #failure: unknown;
  /** Something came while it looked. */
  #isLate = false;

  constructor(options: TurnExchangeOptions) {
    const { shared } = options;
    this.#options = options;
    this.#handed = new HandedTurns(shared);
    this.#taken = new TakenTurns(shared);
    shared.onChange(() => void this.#look());
  }

  /** Turns that other gateways take at once. */
  get elsewhere(): number {
    return this.#others().reduce((sum, { offer }) => sum + offer.turns, 0);
  }

  /** What turns are carried out with. */
  use(context: DispatchContext): void {
    this.#context = context;
  }

  /** To be called when a configuration is active. */
  start(): void {
    this.#seenMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), LOOK_MS).unref();
    void this.#look();
  }

  /** Resolves when it has looked again: a gateway that begins to lead must hand no turn to the one before it. */
  async refresh(): Promise<void> {
    const from = performance.now();
    while (this.#seenMs < from && performance.now() - from < REFRESH_MS) {
      void this.#look();
      await sleep(LATE_LOOK_MS);
    }
  }

  /** Takes no more turns; what is not done at the deadline is left to another gateway. */
  async stop(deadlineMs: number): Promise<void> {
    const { clock } = this.#context!;
    this.#isStopping = true;
    void this.#look();
    const leftMs = Math.max(0, deadlineMs - clock.now());
    const timer = setTimeout(() => this.#taken.close(STOPPED), leftMs);
    // The gateway with the runs may hand one to this one until it knows.
    const isAlone = this.#places.every(({ number }) => number === this.#place);
    if (!isAlone && !this.#options.leads()) await sleep(Math.min(LOOKED_MS, leftMs));
    await this.#taken.ended();
    clearTimeout(timer);
  }

  /** No turn that was handed out is looked for any more. */
  close(): void {
    clearInterval(this.#timer);
  }

  async carryOut(run: ActiveRun, attempt: OpenAttempt, begun: () => Promise<void>): Promise<TurnEnd> {
    const context = this.#context!;
    const chosen = this.#choose(run);
    if ("place" in chosen && chosen.place !== undefined) {
      return this.#handed.carryOut(context, run, { ...attempt, place: chosen.place, begun });
    }
    this.#chosen++;
    try {
      await recordBegin(context, run, attempt);
      await begun();
      return "notBegun" in chosen ? chosen : await this.#carryOutHere(run, attempt);
    } finally {
      this.#chosen--;
    }
  }

  resume(run: ActiveRun, attempt: number): Promise<TurnEnd | undefined> {
    return this.#handed.resume(this.#context!, run, attempt);
  }

  hasChannelElsewhere(channel: string): boolean {
    return this.#places.some(({ number, offer }) => number !== this.#place && offer.channels.includes(channel));
  }

  /** The gateway with the most room for its size; without a place, this one. */
  #choose({ spec }: ActiveRun): { readonly place: number | undefined } | NotBegun {
    const { agentId, workspace, sessionMode } = spec;
    const { agents, turns } = this.#options.offer()!;
    const able = this.#others().filter(({ offer }) => offer.agents.includes(agentId));
    const isAble = agents.includes(agentId);
    if (!isAble && able.length === 0)
      return { notBegun: `no gateway with this configuration has the agent ${agentId}` };
    // What such a run leaves in the state folder, its next one continues.
    if (isAble && (workspace !== undefined || sessionMode === "persistent")) return { place: undefined };
    const ownLoad = (this.#chosen + this.#handed.countAt(this.#place)) / turns;
    let least = isAble ? ownLoad : Infinity;
    let place: number | undefined;
    for (const { number, offer } of able) {
      const load = this.#handed.countAt(number) / offer.turns;
      if (load >= least || (isAble && load >= 1)) continue;
      least = load;
      place = number;
    }
    return { place };
  }

  async #carryOutHere(run: ActiveRun, attempt: OpenAttempt): Promise<TurnEnd> {
    const cut = new AbortController();
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const signals = [run.ending, cut.signal];
    for (const signal of signals) signal.addEventListener("abort", end, { once: true });
    if (run.ending.aborted) end();
    const cutOff = (): void => cut.abort();
    this.#own.add(cutOff);
    while (this.#underWay >= this.#options.offer()!.turns && !ending.signal.aborted) await this.#room(ending.signal);
    this.#underWay++;
    try {
      if (ending.signal.aborted) return { notBegun: cut.signal.aborted ? CUT_OFF : "it waited for room" };
      const outcome = await runAttempt(this.#context!, { ...run, ending: ending.signal }, attempt);
      const isOk = "status" in outcome && outcome.status === "ok";
      return cut.signal.aborted && !run.ending.aborted && !isOk ? { lost: CUT_OFF } : outcome;
    } finally {
      this.#own.delete(cutOff);
      this.#underWay--;
      run.ending.removeEventListener("abort", end);
      for (const next of this.#line.splice(0)) next();
    }
  }

  /** Resolves when a turn here has ended, or the one that waits is to end. */
  #room(ending: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#line.push(resolve);
      ending.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Gateways that would carry out a turn as this one does, and take some. */
  #others(): readonly TurnPlace[] {
    const alike = this.#options.offer()?.alike;
    return this.#places.filter(({ number, offer }) => {
      return number !== this.#place && offer.alike === alike && offer.turns > 0;
    });
  }

  #tick(): void {
    const now = performance.now();
    if (now - this.#seenMs > ANSWER_MARGIN_MS) this.#cutOff();
    else this.#isCutOff = false;
    const isBusy = this.#handed.count + this.#taken.count > 0;
    if (isBusy || now - this.#askedMs >= IDLE_LOOK_MS) void this.#look();
  }

  /** The server may have given what this gateway has to another one; if not, it is to do so. */
  #cutOff(): void {
    const { shared } = this.#options;
    if (!this.#isCutOff) {
      const { logger } = this.#context!;
      logger.warn({ err: this.#failure }, "no turn is taken from other gateways: the database does not answer");
      // Where nothing can be written, the connection is lost, and the place with it.
      shared.withdraw().catch(() => {});
    }
    this.#isCutOff = true;
    this.#taken.loseAll(CUT_OFF);
    if (this.#places.some(({ number }) => number !== this.#place)) for (const cutOff of this.#own) cutOff();
  }

  /** Never rejects. A look without an answer within the margin is given up. */
  async #look(): Promise<void> {
    const offer = this.#options.offer();
    const askedMs = performance.now();
    if (offer === undefined || this.#context === undefined) return;
    if (this.#isLooking && askedMs - this.#askedMs < ANSWER_MARGIN_MS) {
      this.#isLate = true;
      return;
    }
    this.#isLooking = true;
    this.#isLate = false;
    this.#askedMs = askedMs;
    const isLatest = (): boolean => this.#askedMs === askedMs;
    try {
      const seen = await this.#options.shared.look(this.#isStopping ? { ...offer, turns: 0 } : offer);
      if (isLatest() && performance.now() - askedMs < ANSWER_MARGIN_MS) this.#see(seen, askedMs);
    } catch (error) {
      // The next look asks again, and the margin runs on.
      this.#failure = error;
    }
    if (!isLatest()) return;
    this.#isLooking = false;
    if (this.#isLate) setTimeout(() => void this.#look(), LATE_LOOK_MS).unref();
  }

  #see(seen: TurnsSeen, askedMs: number): void {
    const before = this.elsewhere;
    this.#seenMs = askedMs;
    this.#place = seen.own;
    this.#places = seen.places;
    if (seen.own === undefined) this.#taken.loseAll(CUT_OFF);
    else this.#taken.see(this.#context!, seen.taken);
    this.#handed.see(seen);
    if (this.elsewhere !== before) this.#options.changed();
  }
}
