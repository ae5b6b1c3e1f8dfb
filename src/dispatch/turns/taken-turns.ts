import type { SharedTurns, TakenTurn } from "../../storage/shared-store.ts";
import { reasonOf } from "../../core/reason-of.ts";
import type { DispatchContext } from "../context.ts";
import { activeRun } from "../run/active-run.ts";
import { runAttempt } from "../run/attempt-turn.ts";
import { persist, retrying, STORE_RETRY } from "../run/retry.ts";
import { type LeftOutcome, nameOf, statusOf, type TurnRequest } from "./turns.ts";

interface Taken {
  readonly ending: AbortController;
  readonly ended: Promise<void>;
  /** Why it was ended without a person's wish. */
  lost?: string;
}

/** The turns that another gateway has handed to this one. */
export class TakenTurns {
  readonly #shared: SharedTurns;
  /** As many as this gateway takes, and those that have just ended. */
  readonly #taken = new Map<string, Taken>();
  #isClosed = false;

  constructor(shared: SharedTurns) {
    this.#shared = shared;
  }

  /** Turns that are known here; one is until a look no longer shows it. */
  get count(): number {
    return this.#taken.size;
  }

  /** Takes up what a look has shown: begins what is new, ends what is to end, and what has been taken away. */
  see(context: DispatchContext, turns: readonly TakenTurn[]): void {
    const shown = new Set(turns.map(handingOf));
    for (const [name, taken] of this.#taken) {
      if (shown.has(name)) continue;
      end(taken, "it was taken away");
      this.#taken.delete(name);
    }
    for (const turn of turns) {
      const known = this.#taken.get(handingOf(turn));
      if (known === undefined && !this.#isClosed) this.#begin(context, turn);
      else if (turn.ends) known?.ending.abort();
    }
  }

  /** Ends all: another gateway may have what was handed to this one. */
  loseAll(reason: string): void {
    for (const taken of this.#taken.values()) end(taken, reason);
  }

  /** Ends all, and begins no further ones. */
  close(reason: string): void {
    this.#isClosed = true;
    this.loseAll(reason);
  }

  /** Resolves when none is under way, also of those that have come meanwhile. */
  async ended(): Promise<void> {
    const waited = new Set<Taken>();
    for (;;) {
      const open = [...this.#taken.values()].filter((taken) => !waited.has(taken));
      if (open.length === 0) return;
      for (const taken of open) {
        await taken.ended;
        waited.add(taken);
      }
    }
  }

  #begin(context: DispatchContext, turn: TakenTurn): void {
    const ending = new AbortController();
    if (turn.ends) ending.abort();
    const ended = this.#carryOut(context, turn, ending.signal).catch((error: unknown) => {
      if (!context.abandon.aborted) {
        context.logger.error({ err: error, runId: turn.runId }, "the outcome of a turn could not be left");
      }
    });
    this.#taken.set(handingOf(turn), { ending, ended });
  }

  async #carryOut(context: DispatchContext, turn: TakenTurn, ending: AbortSignal): Promise<void> {
    const { runId, attempt, request } = turn;
    const startMs = performance.now();
    const outcome = await this.#outcomeOf(context, turn, { ending, request: JSON.parse(request) as TurnRequest });
    const ms = Math.round(performance.now() - startMs);
    context.logger.info({ runId, attempt, status: statusOf(outcome), ms }, "turn");
    await persist(context, () => this.#shared.leave({ runId, attempt }, JSON.stringify(outcome)));
  }

  /** Never rejects: a turn without an outcome would never end. */
  async #outcomeOf(
    context: DispatchContext,
    turn: TakenTurn,
    { ending, request }: { readonly ending: AbortSignal; readonly request: TurnRequest },
  ): Promise<LeftOutcome> {
    const { mappingId, interrupted, startedAt } = request;
    const lost = (): string | undefined => this.#taken.get(handingOf(turn))?.lost;
    try {
      const stored = await retrying(() => context.store.loadRun(turn.runId), STORE_RETRY, ending);
      const { spec } = stored;
      if (spec.kind !== "agent") return { lost: "it is no run of an agent" };
      const run = activeRun(context, stored, { spec, mappingId, ending });
      const outcome = await runAttempt(context, run, { number: turn.attempt, interrupted, startedAt });
      const isOk = "status" in outcome && outcome.status === "ok";
      const reason = isOk ? undefined : lost();
      if (reason !== undefined) return { lost: reason };
      const extracted = run.extraction.content;
      return extracted === undefined ? outcome : { ...outcome, extracted };
    } catch (error) {
      const reason = lost();
      return reason === undefined ? { status: "error", reply: "", error: reasonOf(error) } : { lost: reason };
    }
  }
}

/** An attempt that could not begin is handed out again under its number, perhaps before a look: its request is another. */
function handingOf(turn: TakenTurn): string {
  return `${nameOf(turn)} ${turn.request}`;
}

function end(taken: Taken, reason: string): void {
  if (taken.ending.signal.aborted) return;
  taken.lost = reason;
  taken.ending.abort();
}
