import type { HeartbeatRequest } from "../../core/host.ts";
import type { SettledState, WakeSpec } from "../../core/run.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { type CoalescedCalls, StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext } from "../context.ts";
import type { TrackedRun } from "../queue/timers.ts";
import { reportSettled } from "../run-log.ts";
import type { StartedAttempt } from "../run-log.ts";
import { wakeText } from "./agent-prompt.ts";
import { isRetryable, retrying, STORE_RETRY } from "./retry.ts";
import { withTimeout } from "./with-timeout.ts";

/** Wakes of all sessions that are remembered until a turn takes them. */
const MAX_HANDED_OVER = 100_000;

/** A wake as it was read for being carried out. */
export interface Wake {
  readonly tracked: TrackedRun;
  readonly runId: string;
  readonly spec: WakeSpec;
  readonly coalesced: CoalescedCalls | undefined;
  readonly deliveryId: string;
  readonly attempt: StartedAttempt;
}

/**
 * `waiting`: the session has it, and a turn is still to take it; `refused`: it may be taken later; `left`: it was
 * canceled, or stays on disk for the next process.
 */
type Outcome = "done" | "waiting" | "refused" | "left" | { readonly failed: string };

/** Wakes that are not settled yet. */
export interface UnsettledWakes {
  /** Those that the session would not take for now, in their order. */
  readonly refused: readonly TrackedRun[];
  /** Those that the session has: `ended` is called for each once a turn has taken it. */
  readonly waiting: readonly TrackedRun[];
}

/** Carries out wakes: system events, heartbeat, settle. */
export class WakeBatch {
  readonly #context: DispatchContext;
  readonly #ended: (run: TrackedRun) => void;
  /** Wakes that their sessions have until a turn takes them, by run. */
  readonly #waiting = new Map<string, Wake>();
  /** Those that were refused before: observers know of them. */
  readonly #dispatched = new WeakSet<TrackedRun>();

  constructor(context: DispatchContext, ended: (run: TrackedRun) => void) {
    this.#context = context;
    this.#ended = ended;
    context.host.sessions.onEventsTaken?.((runIds) => void this.#settleTaken(runIds));
  }

  /** Wakes that their sessions have until a turn takes them. */
  get handedOver(): number {
    return this.#waiting.size;
  }

  /** `undefined` for a run that was settled elsewhere. */
  async load(tracked: TrackedRun): Promise<Wake | undefined> {
    const { store, clock, abandon } = this.#context;
    const { runId } = tracked.run;
    try {
      const { spec, state, deliveryId, coalesced } = await retrying(() => store.loadRun(runId), STORE_RETRY, abandon);
      const isOpen = state === "queued" || state === "running";
      if (spec.kind !== "wake" || !isOpen || tracked.withdrawn) return undefined;
      return { tracked, runId, deliveryId, spec, coalesced, attempt: { number: 1, startedAt: clock.now() } };
    } catch (error) {
      if (error instanceof StoreError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  /** Rejects with a `StoreError`. */
  async deliver(wakes: readonly Wake[]): Promise<UnsettledWakes> {
    const { abandon } = this.#context;
    const end = (): void => {
      for (const { tracked } of wakes) tracked.stop?.abort();
    };
    for (const { tracked } of wakes) tracked.stop = new AbortController();
    abandon.addEventListener("abort", end, { once: true });
    if (abandon.aborted) end();
    try {
      // All of them first: an observer that takes long for one must not change their order.
      await Promise.all(wakes.map((wake) => this.#announce(wake)));
      const outcomes = await Promise.all(wakes.map((wake) => this.#enqueue(wake)));
      const done = wakes.filter((_, at) => outcomes[at] === "done");
      const waiting = wakes.filter((_, at) => outcomes[at] === "waiting");
      const arrived = wakes.filter((_, at) => outcomes[at] === "done" || outcomes[at] === "waiting");
      reportArrival(
        this.#context,
        arrived.map(({ spec }) => spec),
      );
      await this.#settle(done, null);
      for (const [at, outcome] of outcomes.entries()) {
        if (typeof outcome === "object") await this.#fail(wakes[at]!, outcome.failed);
      }
      const refused = wakes.filter(({ tracked }, at) => outcomes[at] === "refused" && !tracked.withdrawn);
      return { refused: refused.map(({ tracked }) => tracked), waiting: waiting.map(({ tracked }) => tracked) };
    } finally {
      abandon.removeEventListener("abort", end);
      for (const wake of wakes) {
        wake.tracked.stop = undefined;
        if (this.#waiting.has(wake.runId)) this.#letCancel(wake);
      }
    }
  }

  /** A wake that is canceled while its session has it is taken back. */
  #letCancel({ tracked, runId }: Wake): void {
    const { host, logger } = this.#context;
    const takeBack = (): void => {
      if (!this.#waiting.delete(runId)) return;
      this.#ended(tracked);
      host.sessions.withdrawSystemEvent?.(runId).catch((error: unknown) => {
        logger.warn({ err: error, runId }, "a canceled wake could not be taken back from its session");
      });
    };
    tracked.stop = new AbortController();
    tracked.stop.signal.addEventListener("abort", takeBack, { once: true });
    if (tracked.withdrawn) takeBack();
  }

  /** Never rejects: what could not be settled stays on disk, and its session knows it at the next start. */
  async #settleTaken(runIds: readonly string[]): Promise<void> {
    const wakes = runIds.flatMap((runId) => this.#waiting.get(runId) ?? []);
    for (const { runId } of wakes) this.#waiting.delete(runId);
    try {
      await this.#settle(wakes, null);
    } catch (error) {
      if (!this.#context.abandon.aborted) {
        this.#context.logger.error({ err: error }, "wakes that a turn has taken could not be settled");
      }
    }
    for (const { tracked } of wakes) this.#ended(tracked);
  }

  async #announce({ tracked, runId }: Wake): Promise<void> {
    if (this.#dispatched.has(tracked)) return;
    await this.#context.events.dispatched({ runId, kind: "wake", attempt: 1 });
  }

  async #enqueue(wake: Wake): Promise<Outcome> {
    const { tracked, runId, spec, coalesced } = wake;
    const { host } = this.#context;
    const { signal } = tracked.stop!;
    if (tracked.withdrawn || signal.aborted) return "left";
    const { sessionKey, owner, rights } = spec;
    const event = { sessionKey, text: wakeText(spec, coalesced), idempotencyKey: runId, owner, rights };
    try {
      if ((await withTimeout(host.sessions.enqueueSystemEvent(event), signal)) !== "waiting") return "done";
      // The session knows it already when it is handed over again.
      if (this.#waiting.size >= MAX_HANDED_OVER) return "refused";
      this.#waiting.set(runId, wake);
      return "waiting";
    } catch (error) {
      if (!isRetryable(error)) return { failed: reasonOf(error) };
      if (signal.aborted) return "left";
      this.#dispatched.add(tracked);
      return "refused";
    }
  }

  async #fail(wake: Wake, reason: string): Promise<void> {
    await this.#settle([wake], reason);
    if (wake.tracked.withdrawn) return;
    const { agentId } = wake.spec;
    const text = `Wakes of the agent ${agentId} fail: its main session refuses them. They are kept: reveille deliveries list --state failed`;
    // A notice may take its time: no wake waits for it.
    void this.#context.outages.failed(`wakes:${agentId}`, text, { detail: reason });
  }

  async #settle(wakes: readonly Wake[], failed: string | null): Promise<void> {
    if (wakes.length === 0) return;
    const state = failed === null ? "done" : "failed";
    const runIds = wakes.map(({ runId }) => runId);
    await settleKnown(this.#context, runIds, { state, reason: failed });
    for (const { runId, deliveryId, tracked, attempt } of wakes) {
      if (tracked.withdrawn) continue;
      const facts = { mappingId: tracked.run.mappingId, deliveryId, attempt };
      await reportSettled(this.#context, { runId, kind: "wake", state, reason: failed }, facts);
    }
  }
}

/** The turn that a wake asks for. */
export function turnRequestOf({ agentId, sessionKey }: WakeSpec): HeartbeatRequest {
  return { agentId, sessionKey, reason: "hook:wake" };
}

/** Wakes have reached their sessions: asks for the turns of those that are urgent, and ends the outages of their agents. */
export function reportArrival(
  { host, outages }: Pick<DispatchContext, "host" | "outages">,
  specs: readonly WakeSpec[],
  { isTurnStored = false }: { readonly isTurnStored?: boolean } = {},
): void {
  const urgent = specs.filter(({ mode }) => mode === "now");
  for (const spec of new Map(urgent.map((spec) => [spec.sessionKey, spec])).values()) {
    const request = turnRequestOf(spec);
    host.sessions.requestHeartbeat(isTurnStored ? { ...request, isStored: true } : request);
  }
  for (const agentId of new Set(specs.map(({ agentId }) => agentId))) {
    void outages.works(`wakes:${agentId}`, `Wakes of the agent ${agentId} reach its main session again.`);
  }
}

/**
 * Ends many runs, in one commit as long as the store knows them all. When one was removed in between, each
 * has a commit of its own, so that the others are settled; the one that is gone is no error.
 */
export async function settleKnown(
  context: Pick<DispatchContext, "store" | "abandon" | "clock">,
  runIds: readonly string[],
  settled: { readonly state: SettledState; readonly reason: string | null },
): Promise<void> {
  const { store, abandon, clock } = context;
  const end = { ...settled, at: clock.now() };
  const settle = (some: readonly string[]): Promise<void> =>
    retrying(() => store.settleAll(some, end), STORE_RETRY, abandon);
  try {
    await settle(runIds);
  } catch (error) {
    if (!isGone(error)) throw error;
    if (runIds.length > 1) await Promise.all(runIds.map((runId) => settleKnown(context, [runId], settled)));
  }
}

function isGone(error: unknown): boolean {
  return error instanceof StoreError && error.code === "NOT_FOUND";
}
