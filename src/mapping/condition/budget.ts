/**
 * What one evaluation of a condition may cost, in units of about a tenth of a microsecond: it keeps no other
 * call waiting for more than some 50 ms. The work is counted and not timed, so that the same payload has the
 * same outcome on a busy machine.
 */
const MAX_UNITS = 500_000;
/** Characters of a text that a function goes over within one unit. */
const CHARACTERS_PER_UNIT = 256;
/** Characters of two texts that are compared within one unit. */
const COMPARED_PER_UNIT = 2_048;

/** Counts the work of one evaluation at a time, and ends one that takes too much. */
export class ConditionBudget {
  #left = 0;
  #unitsPerItem = 1;

  /** To be called before each evaluation, with what the expression takes for an item of a list. */
  begin(unitsPerItem = 1): void {
    this.#left = MAX_UNITS;
    this.#unitsPerItem = unitsPerItem;
  }

  /** Throws once the evaluation has used up what it had, and from then on. */
  charge(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new Error("takes too much work for this payload");
  }

  /** Charges for a pass over items, each of which the expression may look at. */
  chargeItems(items: number): void {
    this.charge(items * this.#unitsPerItem);
  }

  /** Charges for a function that goes over texts once. */
  chargeText(characters: number): void {
    this.charge(1 + characters / CHARACTERS_PER_UNIT);
  }

  /** Charges for texts that may be compared with others. */
  chargeCompared(characters: number): void {
    this.charge(characters / COMPARED_PER_UNIT);
  }
}
