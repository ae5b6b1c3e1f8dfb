import type { HandedTurn, SharedTurns, TurnsSeen } from "../../storage/shared-store.ts";
import type { ActiveRun, DispatchContext } from "../context.ts";
import type { OpenAttempt } from "../run/attempt-turn.ts";
import { persist, retrying, STORE_RETRY } from "../run/retry.ts";
import { type LeftOutcome, type LostTurn, nameOf, type TurnEnd, type TurnRequest } from "./turns.ts";

const GONE: LostTurn = { lost: "the gateway that carried it out is gone or cut off" };

/** One that waits for its outcome. */
interface Waiting {
  readonly turn: HandedTurn;
  readonly place: number;
  /** Called when it may have one. */
  readonly look: (isGone: boolean) => void;
}

/** The turns that this gateway has handed to others. */
export class HandedTurns {
  readonly #shared: SharedTurns;
  /** As many as gateways take together. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(shared: SharedTurns) {
    this.#shared = shared;
  }

  get count(): number {
    return this.#waiting.size;
  }

  countAt(place: number | undefined): number {
    let count = 0;
    for (const waiting of this.#waiting.values()) if (waiting.place === place) count++;
    return count;
  }

  /** Begins an attempt by handing its turn to a gateway. */
  carryOut(
    context: DispatchContext,
    run: ActiveRun,
    { number, interrupted, startedAt, place, begun }: OpenAttempt & { place: number; begun: () => Promise<void> },
  ): Promise<TurnEnd> {
    const turn = { runId: run.stored.runId, attempt: number };
    const request: TurnRequest = { mappingId: run.mappingId, interrupted, startedAt };
    const to = { place, request: JSON.stringify(request), startedAt };
    const begin = async (): Promise<void> => {
      await context.counted();
      await persist(context, () => this.#shared.hand(turn, to));
      await begun();
    };
    return this.#wait(context, run, { turn, place, begin });
  }

  /** Waits for a turn that the gateway which led before has handed to one. */
  async resume(context: DispatchContext, run: ActiveRun, number: number): Promise<TurnEnd | undefined> {
    const turn = { runId: run.stored.runId, attempt: number };
    const found = await retrying(() => this.#shared.find(turn), STORE_RETRY, run.ending);
    if (found === undefined) return undefined;
    return this.#wait(context, run, { turn, place: found.place });
  }

  /** Takes up what a look has shown. */
  see({ places, ended }: TurnsSeen): void {
    if (this.#waiting.size === 0) return;
    const withOutcome = new Set(ended.map(nameOf));
    const open = new Set(places.map(({ number }) => number));
    for (const [name, { place, look }] of this.#waiting) {
      if (withOutcome.has(name)) look(false);
      else if (!open.has(place)) look(true);
    }
  }

  async #wait(
    context: DispatchContext,
    run: ActiveRun,
    { turn, place, begin }: Pick<Waiting, "turn" | "place"> & { readonly begin?: () => Promise<void> },
  ): Promise<TurnEnd> {
    const { abandon } = context;
    const { ending, extraction } = run;
    const { promise, resolve, reject } = Promise.withResolvers<LeftOutcome>();
    // It may be rejected before it is awaited.
    promise.catch(() => {});
    const end = (): void => {
      if (abandon.aborted) reject(new Error("The turn is left to the gateway that goes on with the runs."));
      else void persist(context, () => this.#shared.end(turn)).catch(reject);
    };
    let isLooking = false;
    const look = (isGone: boolean): void => {
      if (isLooking) return;
      isLooking = true;
      this.#outcome(turn, isGone).then(
        (outcome) => (outcome === undefined ? (isLooking = false) : resolve(outcome)),
        // It is looked for again.
        () => (isLooking = false),
      );
    };
    const name = nameOf(turn);
    this.#waiting.set(name, { turn, place, look });
    ending.addEventListener("abort", end, { once: true });
    try {
      if (begin === undefined) look(false);
      else await begin();
      if (ending.aborted) end();
      const outcome = await promise;
      if ("extracted" in outcome) extraction.content = outcome.extracted;
      return outcome;
    } finally {
      this.#waiting.delete(name);
      ending.removeEventListener("abort", end);
    }
  }

  /** Of a gateway that is gone as well: it may have left the outcome before. */
  async #outcome(turn: HandedTurn, isGone: boolean): Promise<LeftOutcome | undefined> {
    const found = await this.#shared.find(turn);
    if (found?.outcome != null) return JSON.parse(found.outcome) as LeftOutcome;
    return isGone || found === undefined ? GONE : undefined;
  }
}
