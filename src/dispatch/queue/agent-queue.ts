import type { OpenRun } from "../../storage/open-run.ts";
import { SCOPE_ALL } from "../../storage/operational-state.ts";
import type { Scope } from "../../storage/operational-state.ts";
import type { CarriedOut, DispatchContext, Runner, TakenRun } from "../context.ts";
import type { DueRuns, Expiries, TrackedRun } from "./timers.ts";
import { Lanes } from "./lanes.ts";
import type { Place } from "./lanes.ts";
import { RunIds } from "./run-ids.ts";
import { REPLIED } from "./admission.ts";
import type { RunGate, RunGroup } from "./admission.ts";

/** While calls are coming in, one agent run begins in this many milliseconds. */
const PACE_MS = 5;

/** Poll interval for the owner's turns; the host emits no event when they end. */
const OWNER_CHECK_MS = 250;

/** Runs that may turn out not to begin before others in the process have their turn. */
const MAX_TURNED_AWAY = 256;

export interface AgentQueueOptions {
  readonly runner: Runner;
  readonly concurrency: () => number;
  readonly isBusy: () => boolean;
  readonly gate: RunGate;
  readonly due: DueRuns;
  readonly expiries: Expiries;
  /** Makes an object of a run whose turn may have come. */
  readonly track: (run: TakenRun) => TrackedRun;
  /** It is settled, held, or stays on disk for the next process. */
  readonly ended: (run: TrackedRun) => void;
}

/**
 * Agent runs that wait, and as many active ones as there is room for.
 *
 * A run that is nothing but queued is a few numbers, 150 bytes in all, until its turn may have come: a long queue
 * costs little. A run with a time of its own is an object from the beginning.
 */
export class AgentQueue {
  readonly #context: DispatchContext;
  readonly #options: AgentQueueOptions;
  readonly #lanes: Lanes<RunGroup>;
  /** The runs that are numbers. */
  readonly #waiting = new RunIds();
  /** The others in the lanes, active ones among them. */
  readonly #tracked = new Map<Place, TrackedRun>();
  readonly #underWay = new Set<Promise<void>>();
  #running = false;
  #nextStartMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = Infinity;

  constructor(context: DispatchContext, options: AgentQueueOptions) {
    const { gate } = options;
    this.#context = context;
    this.#options = options;
    this.#lanes = new Lanes({
      isOpen: (group) => gate.isOpen(group),
      priorityOf: (group) => gate.priorityOf(group),
    });
  }

  start(): void {
    this.#running = true;
    this.#lanes.reviewAll();
    this.fill();
  }

  /** Begins nothing more; resolves when active runs have ended. */
  async stop(): Promise<void> {
    this.#running = false;
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay);
  }

  /** The runs that are not tracked. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Adds a run to the end of its lane, as numbers; false when it has to be tracked. It begins at the next {@link fill}. */
  pushQueued(run: OpenRun): boolean {
    if (!isOnlyQueued(run) || !RunIds.fits(run.runId)) return false;
    this.#waiting.set(this.#lanes.push(run.lane, run.mappingId), run.runId);
    return true;
  }

  hasQueued(runId: string): boolean {
    return this.#waiting.find(runId) !== undefined;
  }

  /** Takes out a run that {@link pushQueued} has added, and gives its mapping; `undefined` when it does not wait there. */
  removeQueued(runId: string): { readonly mappingId: string | null } | undefined {
    const place = this.#waiting.find(runId);
    if (place === undefined) return undefined;
    const mappingId = this.#mappingAt(place);
    this.#waiting.delete(place);
    this.#lanes.remove(place);
    return { mappingId };
  }

  /** Adds a run to the end of its lane. It begins at the next {@link fill}. */
  push(tracked: TrackedRun): void {
    this.#stand(tracked, this.#lanes.push(tracked.lane, this.#options.gate.groupOf(tracked.run)));
  }

  /** Adds a run that has given up its lane: it waits for no other. It begins at the next {@link fill}. */
  pushBeside(tracked: TrackedRun): void {
    this.#stand(tracked, this.#lanes.push("", this.#options.gate.groupOf(tracked.run)));
  }

  /** A run that has held its lane is its next one. */
  putBack(tracked: TrackedRun): void {
    this.#lanes.putBack(tracked.place!);
  }

  /** Takes out a run that waits for its turn; false when it does not. */
  remove(tracked: TrackedRun): boolean {
    if (tracked.place === undefined || !this.#lanes.remove(tracked.place)) return false;
    this.#leavePlace(tracked);
    return true;
  }

  /** A run that waited for its time gives up the lane that it has held, if it has. */
  release(tracked: TrackedRun): void {
    if (tracked.place === undefined) return;
    this.#lanes.release(tracked.place);
    this.#leavePlace(tracked);
  }

  #stand(tracked: TrackedRun, place: Place): void {
    tracked.place = place;
    this.#tracked.set(place, tracked);
  }

  /** The number may be another's from now on. */
  #leavePlace(tracked: TrackedRun): void {
    this.#tracked.delete(tracked.place!);
    tracked.place = undefined;
  }

  /** The run whose turn it would be. */
  #next(): TrackedRun | undefined {
    const place = this.#lanes.next();
    if (place === undefined) return undefined;
    return this.#tracked.get(place) ?? this.#trackAt(place);
  }

  #trackAt(place: Place): TrackedRun {
    const run = {
      runId: this.#waiting.at(place)!,
      mappingId: this.#mappingAt(place),
      kind: "agent",
      state: "queued",
      dueAt: null,
      expiresAt: null,
      begun: false,
      replied: false,
    } as const;
    this.#waiting.delete(place);
    const tracked = this.#options.track(run);
    this.#stand(tracked, place);
    return tracked;
  }

  #mappingAt(place: Place): string | null {
    const group = this.#lanes.groupOf(place);
    return group === REPLIED ? null : group;
  }

  /** To be called when something of a scope was paused, resumed or configured. */
  review(scope: Scope): void {
    if (scope === SCOPE_ALL) this.#lanes.reviewAll();
    else this.#lanes.review(scope);
  }

  /** Begins as many runs as there is room for. */
  fill(): void {
    if (!this.#running) return;
    const most = this.#options.concurrency();
    // The owner's own conversations come first, but never so much that nothing else continues.
    const room = Math.max(1, most - (this.#context.host.agents.ownerTurns?.() ?? 0));
    let turnedAway = 0;
    while (this.#underWay.size < room) {
      const next = this.#next();
      if (!next) return;
      if (this.#turnsAway(next)) {
        if (++turnedAway < MAX_TURNED_AWAY) continue;
        this.#fillIn(0);
        return;
      }
      if (this.#mustWait()) return;
      this.#begin(next);
    }
    if (this.#underWay.size < most && this.#lanes.next() !== undefined) this.#fillIn(OWNER_CHECK_MS);
  }

  #fillIn(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (atMs >= this.#timerMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timerMs = Infinity;
      this.fill();
    }, delayMs);
  }

  /** True when the run must not begin: it is dropped, waits for its time, or its group has been closed. */
  #turnsAway(tracked: TrackedRun): boolean {
    const { expiries, due, gate } = this.#options;
    if (expiries.isOver(tracked)) {
      this.remove(tracked);
      expiries.drop(tracked);
      return true;
    }
    if (due.delayOf(tracked) > 0) {
      this.#lanes.take();
      due.add(tracked);
      return true;
    }
    return gate.heldBy(tracked.run) !== undefined;
  }

  /** While calls are coming in they come first: runs begin at a measured pace. */
  #mustWait(): boolean {
    if (!this.#options.isBusy()) return false;
    const now = performance.now();
    if (now >= this.#nextStartMs) {
      this.#nextStartMs = now + PACE_MS;
      return false;
    }
    this.#fillIn(PACE_MS);
    return true;
  }

  /** Begins the run whose turn it is. */
  #begin(tracked: TrackedRun): void {
    const { expiries, gate } = this.#options;
    this.#lanes.take();
    expiries.suspend(tracked);
    const stop = new AbortController();
    tracked.stop = stop;
    const group = gate.groupOf(tracked.run);
    const draw = gate.count(tracked.run);
    if (gate.enter(group)) this.#lanes.review(group);
    const work = this.#carryOut(tracked.run, stop.signal).then((outcome) => {
      this.#underWay.delete(work);
      if (gate.leave(group)) this.#lanes.review(group);
      if (draw && wasRefused(outcome)) gate.giveBack(draw);
      this.#leave(tracked, outcome);
      this.fill();
    });
    this.#underWay.add(work);
  }

  /** Never rejects: a run that cannot be carried out stays on disk and the log says why. */
  async #carryOut(run: TakenRun, stop: AbortSignal): Promise<CarriedOut> {
    try {
      return await this.#options.runner.carryOut(run, stop);
    } catch (error) {
      const { abandon, logger } = this.#context;
      if (!abandon.aborted) logger.error({ err: error, runId: run.runId }, "a run could not be carried out");
      return { kind: "ended" };
    }
  }

  #leave(tracked: TrackedRun, outcome: CarriedOut): void {
    const { expiries, due, ended } = this.#options;
    tracked.stop = undefined;
    if (outcome.kind === "ended" || tracked.withdrawn) {
      this.release(tracked);
      ended(tracked);
      return;
    }
    const { dueAt, replied, holdsLane } = outcome;
    tracked.run = { ...tracked.run, state: "queued", begun: true, dueAt, replied };
    if (!holdsLane) this.release(tracked);
    due.add(tracked);
    if (wasRefused(outcome)) expiries.add(tracked);
    else expiries.remove(tracked);
  }
}

/** True for an agent run that waits for its turn alone, and has no time of its own. */
function isOnlyQueued({ kind, state, dueAt, expiresAt, begun, replied }: OpenRun): boolean {
  return kind === "agent" && state === "queued" && dueAt === null && expiresAt === null && !begun && !replied;
}

/** The host would not begin it. */
function wasRefused(outcome: CarriedOut): boolean {
  return outcome.kind === "postponed" && outcome.refused === true;
}
