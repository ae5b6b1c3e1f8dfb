import { hasDrifted } from "../retention-round.ts";
import type { PruneLimits, PruneOutcome } from "../delivery-store.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { CLAIM_GRACE_MS } from "./operations/new-delivery-row.ts";
import { prune, type PruneStepOutcome } from "./operations/retention.ts";
import { PrunePass } from "./prune-pass.ts";

/** Deliveries that one step acts on, unless it is asked for others, and at most. */
const DELIVERIES = 64;
const MAX_DELIVERIES = 256;
const NOTHING: PruneOutcome = { removed: 0, emptied: 0, more: false };

/** The passes of a round, in their order. */
type Phase = "old" | "requests" | "excess";

/**
 * Removes deliveries whose runs are all closed. A round of steps removes what is old enough, then empties what is, then,
 * while all deliveries count for more bytes than allowed, removes the oldest whatever their age.
 *
 * What is due is looked for on a connection that reads, so that nothing waits for it that is written meanwhile; the write
 * takes what is still closed then. The position of a round is in memory only.
 */
export class PostgresRetention {
  readonly #database: PostgresDatabase;
  readonly #passes: Readonly<Record<Phase, PrunePass>>;
  #round: { readonly limits: PruneLimits; phase: Phase } | undefined;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#passes = {
      old: new PrunePass(database, "remove"),
      requests: new PrunePass(database, "empty"),
      excess: new PrunePass(database, "remove"),
    };
  }

  /** One step. */
  async prune(limits: PruneLimits): Promise<PruneOutcome> {
    if (this.#round !== undefined && hasDrifted(this.#round.limits, limits)) this.#round = undefined;
    const round = (this.#round ??= this.#beginRound(limits));
    if (round.phase === "old") {
      const outcome = await this.#step(limits, round.phase, limits.removeBefore);
      if (outcome !== undefined) return outcome;
      round.phase = "requests";
    }
    if (round.phase === "requests") {
      const outcome = await this.#step(limits, round.phase, limits.emptyBefore);
      if (outcome !== undefined) return outcome;
      round.phase = "excess";
    }
    const outcome = limits.maxBytes === null ? NOTHING : await this.#removeExcess(limits);
    if (!outcome.more) this.#round = undefined;
    return outcome;
  }

  #beginRound(limits: PruneLimits): { readonly limits: PruneLimits; phase: Phase } {
    for (const pass of Object.values(this.#passes)) pass.restart();
    return { limits, phase: "old" };
  }

  /** `undefined` at the end of the pass. */
  async #step(limits: PruneLimits, phase: Phase, before: number): Promise<PruneOutcome | undefined> {
    const seqs = await this.#look(limits, phase, before);
    if (seqs === undefined) return undefined;
    if (seqs.length === 0) return { ...NOTHING, more: true };
    return { ...countsOf(await this.#act(limits, phase, seqs)), more: true };
  }

  async #removeExcess(limits: PruneLimits): Promise<PruneOutcome> {
    const { isOver, areAllCounted } = await this.#act(limits, "excess", []);
    // Deliveries that are not counted yet could only add to the total.
    if (!isOver) return { ...NOTHING, more: !areAllCounted };
    const seqs = await this.#look(limits, "excess", Number.MAX_SAFE_INTEGER);
    if (seqs === undefined) return { ...NOTHING, more: !areAllCounted };
    if (seqs.length === 0) return { ...NOTHING, more: true };
    const outcome = await this.#act(limits, "excess", seqs);
    return { ...countsOf(outcome), more: outcome.isOver || !outcome.areAllCounted };
  }

  #look({ now, most = DELIVERIES }: PruneLimits, phase: Phase, before: number) {
    const limit = Math.min(most, MAX_DELIVERIES);
    return this.#passes[phase].look({ before, since: now - CLAIM_GRACE_MS, limit });
  }

  async #act({ now, maxBytes }: PruneLimits, phase: Phase, seqs: readonly number[]): Promise<PruneStepOutcome> {
    const task = phase === "requests" ? "empty" : "remove";
    const outcome = await this.#database.write(prune, { seqs, task, now, maxBytes, untilTheyFit: phase === "excess" });
    const last = outcome.isDone ? seqs.at(-1) : outcome.last;
    if (last !== undefined) this.#passes[phase].continueAfter(last);
    return outcome;
  }
}

function countsOf({ removed, emptied }: PruneStepOutcome): Pick<PruneOutcome, "removed" | "emptied"> {
  return { removed, emptied };
}
