/**
 * What one evaluation of a condition may cost, in units of about half a microsecond: a pass over some ten
 * thousand items with a comparison or two each. The work is counted and not timed, so that the same
 * payload has the same outcome on a busy machine.
 */
const MAX_UNITS = 500_000;
/** Characters of a text that a function goes over within one unit. */
const CHARACTERS_PER_UNIT = 256;

/** Counts the work of one evaluation at a time, and ends one that takes too much. */
export class ConditionBudget {
  #left = 0;

  /** To be called before each evaluation. */
  begin(): void {
    this.#left = MAX_UNITS;
  }

  /** Throws once the evaluation has used up what it had, and from then on. */
  charge(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new Error("takes too much work for this payload");
  }

  /** Charges for a function that goes over texts once. */
  chargeText(characters: number): void {
    this.charge(1 + characters / CHARACTERS_PER_UNIT);
  }
}
