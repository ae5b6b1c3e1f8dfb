import { setTimeout as sleep } from "node:timers/promises";
import type { OpenRun } from "../storage/open-run.ts";
import { SCOPE_ALL } from "../storage/operational-state.ts";
import type { Pause, Scope } from "../storage/operational-state.ts";
import { Elsewhere } from "./elsewhere.ts";
import { AgentQueue } from "./queue/agent-queue.ts";
import type { DispatchContext, Runner, TakenRun, Withdrawal } from "./context.ts";
import { DueRuns, Expiries, TrackedRun } from "./queue/timers.ts";
import { RunGate } from "./queue/admission.ts";
import { persist } from "./run/retry.ts";
import { reportSettled } from "./run-log.ts";
import { WakesAtOnce } from "./run/wake-at-once.ts";
import { WakeRunner } from "./run/wake-runner.ts";

/** Time that runs may take to return after they were abandoned at the deadline. */
const ABORT_GRACE_MS = 1_000;

export interface DispatcherOptions extends Omit<DispatchContext, "abandon" | "spend" | "counted"> {
  /** Agent runs at once; asked each time, so that a reload takes effect. */
  concurrency(): number;
  /** True while calls are coming in; wakes then take only a share of the time. */
  isBusy(): boolean;
  /** Makes what carries out agent runs. */
  agents(context: DispatchContext): Runner;
}

/**
 * Carries out what was accepted: agent runs one after the other within a session's lane and several
 * lanes at once, wakes in order beside them. Lanes live in memory; the store has the rows.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #abandon = new AbortController();
  /**
   * Every open run but those that the queue of agent runs has as numbers, until it is settled or left on disk;
   * `hooks.maxQueuedRuns` is the bound of both.
   */
  readonly #runs = new Map<string, TrackedRun>();
  readonly #gate: RunGate;
  readonly #agents: AgentQueue;
  readonly #wakes: WakeRunner;
  readonly #due: DueRuns;
  readonly #expiries: Expiries;
  /** Recovered runs that wait for a time; the active configuration at the start bounds it. */
  readonly #recovered: TrackedRun[] = [];
  /** What the commit of a call carries out. */
  readonly atOnce: WakesAtOnce;
  /** What another gateway on the same store carries out. */
  readonly elsewhere = new Elsewhere();
  #reserved = 0;

  constructor(options: DispatcherOptions) {
    const spend: DispatchContext["spend"] = (mappingId, usage) => gate.spend(mappingId, usage);
    const counted = (): Promise<unknown> | undefined => gate.counted();
    const context: DispatchContext = { ...options, abandon: this.#abandon.signal, spend, counted };
    const ended = (tracked: TrackedRun): void => this.#forget(tracked);
    const gate = new RunGate(context, (scope) => this.#review(scope));
    const due = new DueRuns(context, { arrived: (tracked) => this.#arrive(tracked), lost: ended });
    const expiries = new Expiries(context, {
      takeOut: (tracked) => this.#takeOut(tracked),
      ended,
      swept: () => this.#agents.fill(),
    });
    const isBusy = (): boolean => options.isBusy();
    const runner = options.agents(context);
    const concurrency = (): number => options.concurrency();
    const track = (run: TakenRun): TrackedRun => this.#track(run);
    this.#options = options;
    this.#gate = gate;
    this.#due = due;
    this.#expiries = expiries;
    this.#agents = new AgentQueue(context, { runner, concurrency, isBusy, gate, due, expiries, track, ended });
    this.#wakes = new WakeRunner(context, { isBusy, gate, expiries, ended });
    const isFree = (sessionKey: string): boolean => this.elsewhere.isHere && this.#wakes.isFree(sessionKey);
    this.atOnce = new WakesAtOnce(context, { gate, isFree });
  }

  /** Runs that wait or are active here, and those that are being accepted; a wake that its session has is neither. */
  get open(): number {
    const here = this.#runs.size + this.#agents.waiting - this.#wakes.handedOver;
    return this.#reserved + here + this.elsewhere.open;
  }

  /** Keeps room for runs that are about to be stored; false when there would be more than `maxOpen`. */
  reserve(count: number, maxOpen: number): boolean {
    if (this.open + count > maxOpen) return false;
    this.#reserved += count;
    return true;
  }

  /** Gives back what was reserved, once the runs have been enqueued or refused. */
  release(count: number): void {
    this.#reserved -= count;
  }

  /**
   * Recovers what an earlier process left: pauses, used budgets, and runs in the order in which they were
   * accepted. Called before {@link start} and before the first accept, and again when it has failed.
   */
  async recover(): Promise<void> {
    await this.#gate.load();
    const { store, logger } = this.#options;
    const interrupted = { rerun: 0, held: 0 };
    for await (const run of store.openRuns()) {
      if (run.state === "held" || this.knows(run.runId)) continue;
      if (run.state === "running" && !run.replied) interrupted[await this.#afterInterruption(run)]++;
      if (this.#agents.pushQueued(run)) continue;
      const tracked = this.#track(run, run.lane);
      // A run that is tried again before all others of its lane waits in the lane, so that they stay behind it.
      if (run.dueAt === null || isNextOfItsLane(run)) this.#queue(tracked);
      else this.#recovered.push(tracked);
    }
    if (interrupted.rerun + interrupted.held > 0) logger.info(interrupted, "interrupted runs recovered");
  }

  /** An interrupted run runs again, or is held for a person. */
  async #afterInterruption({ runId }: OpenRun): Promise<"rerun" | "held"> {
    const { spec } = await this.#options.store.loadRun(runId);
    return spec.kind === "agent" && spec.interrupted === "hold" ? "held" : "rerun";
  }

  /** Begins to carry out what is queued. A configuration is active from now on. */
  start(): void {
    this.#gate.start();
    for (const tracked of this.#recovered.splice(0)) this.#due.add(tracked);
    this.#due.start();
    this.#expiries.start();
    this.#wakes.start();
    this.#agents.start();
  }

  /** To be called when another configuration is active: priorities and bounds may have changed. */
  configure(): void {
    this.#review(SCOPE_ALL);
    this.#agents.fill();
  }

  /** Takes runs whose delivery is on disk. */
  enqueue(runs: readonly OpenRun[]): void {
    if (!this.elsewhere.isHere) return;
    for (const run of runs) {
      if (this.#agents.pushQueued(run)) continue;
      const tracked = this.#track(run, run.lane);
      if (run.dueAt === null) this.#queue(tracked);
      else this.#due.add(tracked);
    }
    this.#agents.fill();
  }

  /** True while the run waits or is active here. */
  knows(runId: string): boolean {
    return this.#runs.has(runId) || this.#agents.hasQueued(runId);
  }

  /** Reads again what is paused. Rejects with a `StoreError`. */
  async refresh(): Promise<void> {
    if (await this.#gate.refresh()) this.#agents.fill();
  }

  /** A run coalesces calls until another time (milliseconds since the epoch); does nothing when it no longer does. */
  postpone(runId: string, dueAt: number): void {
    const tracked = this.#runs.get(runId);
    if (tracked && !tracked.run.begun) this.#due.move(tracked, dueAt);
  }

  /**
   * Withdraws runs that were settled elsewhere: forgets those that wait, aborts active ones, and notifies
   * observers of each.
   */
  withdraw({ runIds, state, reason }: Withdrawal): void {
    for (const runId of runIds) {
      const tracked = this.#runs.get(runId);
      if (tracked?.withdrawn) continue;
      const isActive = tracked !== undefined && !this.#withdraw(tracked);
      // A run that is not known here is held; the one that takes its place is reported with its own kind.
      const known = tracked?.run ?? this.#agents.removeQueued(runId);
      if (!isActive && (tracked?.run.begun ?? known === undefined)) this.endTurns(runId);
      const event = { runId, kind: tracked?.run.kind ?? "agent", state, reason } as const;
      void reportSettled(this.#options, event, { mappingId: known?.mappingId ?? null });
    }
    this.#agents.fill();
  }

  /** Ends turns of a settled run that is not active here: one that the gateway before has handed out goes on elsewhere. */
  endTurns(runId: string): void {
    const { store, logger } = this.#options;
    const turns = this.elsewhere.isHere ? store.shared?.turns : undefined;
    if (turns === undefined) return;
    const abandon = this.#abandon.signal;
    persist({ abandon }, () => turns.forget(runId)).catch((error: unknown) => {
      if (!abandon.aborted) logger.error({ err: error, runId }, "a turn at another gateway could not be ended");
    });
  }

  /** The paused scopes: by an operator, or because a budget is used up. */
  pausedScopes(): readonly Pause[] {
    return this.#gate.pauses();
  }

  /**
   * Lets no further run of the scope begin; active runs continue. False when it is paused already.
   * Rejects with a `StoreError` when that could not be written.
   */
  pause(scope: Scope, reason: string): Promise<boolean> {
    return this.#gate.pause(scope, reason);
  }

  /**
   * Ends a pause and forgets what was counted against the scope's budget. False when it is not paused.
   * Rejects with a `StoreError` when that could not be written.
   */
  async resume(scope: Scope): Promise<boolean> {
    const wasPaused = await this.#gate.resume(scope);
    this.#agents.fill();
    return wasPaused;
  }

  /**
   * Begins nothing more, waits for active runs until the deadline, and then leaves them on disk as
   * interrupted.
   */
  async stop(deadlineMs: number): Promise<void> {
    this.#due.stop();
    this.#expiries.stop();
    const remainingMs = Math.max(0, deadlineMs - this.#options.clock.now());
    const ended = Promise.all([this.#wakes.stop(), this.#agents.stop()]).then(() =>
      Promise.all([this.#expiries.written(), this.#gate.written(), this.#options.outages.written()]),
    );
    const patience = new AbortController();
    await Promise.race([ended, this.#overdue(remainingMs, patience.signal).catch(() => {})]);
    patience.abort();
    this.#abandon.abort();
  }

  /** Abandons what runs at the deadline; its grace counts from then on, though a process may have been held up. */
  async #overdue(remainingMs: number, patience: AbortSignal): Promise<void> {
    await sleep(remainingMs, undefined, { signal: patience });
    this.#abandon.abort();
    await sleep(ABORT_GRACE_MS, undefined, { signal: patience });
  }

  #track(run: TakenRun, lane = ""): TrackedRun {
    const tracked = new TrackedRun(run, lane);
    this.#runs.set(run.runId, tracked);
    this.#expiries.measure(tracked);
    return tracked;
  }

  #forget({ run }: TrackedRun): void {
    this.#runs.delete(run.runId);
  }

  /** Puts a run where it waits for its turn. */
  #queue(tracked: TrackedRun): void {
    this.#expiries.add(tracked);
    if (tracked.run.kind === "wake") this.#wakes.push(tracked);
    else this.#agents.push(tracked);
  }

  /**
   * The time of a run has come: it continues in the lane that it holds, beside its lane when that went on
   * after the reply, or at the end of its lane.
   */
  #arrive(tracked: TrackedRun): void {
    if (tracked.withdrawn) this.#forget(tracked);
    else if (tracked.place !== undefined) this.#agents.putBack(tracked);
    else if (tracked.run.replied) this.#agents.pushBeside(tracked);
    else this.#queue(tracked);
    this.#agents.fill();
  }

  /** Takes a run out of where it waits for its turn or its time; false when it does not. */
  #takeOut(tracked: TrackedRun): boolean {
    if (this.#due.remove(tracked)) {
      this.#agents.release(tracked);
      return true;
    }
    return tracked.list?.remove(tracked) ?? this.#agents.remove(tracked);
  }

  /** False for an active run, which is forgotten when it has ended. */
  #withdraw(tracked: TrackedRun): boolean {
    tracked.withdrawn = true;
    tracked.stop?.abort();
    this.#expiries.remove(tracked);
    const waited = this.#takeOut(tracked);
    if (waited) this.#forget(tracked);
    return waited;
  }

  #review(scope: Scope): void {
    this.#agents.review(scope);
    this.#wakes.review();
  }
}

/** A run that is tried again before anything else of its lane. */
function isNextOfItsLane({ kind, begun, replied }: OpenRun): boolean {
  return kind === "agent" && begun && !replied;
}
