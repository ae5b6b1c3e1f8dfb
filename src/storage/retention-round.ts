/** What a round of retention remembers, whichever store it is in. */
import type { PruneLimits } from "./delivery-store.ts";

/** A round begins again when its limits have moved by more. */
const ROUND_DRIFT_MS = 60_000;
/** Blocks of deliveries that a pass remembers. */
const MAX_KNOWN_BLOCKS = 65_536;

type Times = Pick<PruneLimits, "removeBefore" | "emptyBefore">;

/** True when a round with the first limits is to begin again. */
export function hasDrifted(from: Times, to: Times): boolean {
  return (
    Math.abs(to.removeBefore - from.removeBefore) > ROUND_DRIFT_MS ||
    Math.abs(to.emptyBefore - from.emptyBefore) > ROUND_DRIFT_MS
  );
}

/** The earliest receipt that is left to act on, of each block of deliveries that was looked at. */
export class EarliestReceipts {
  readonly #earliest = new Map<number, number>();

  /** The first block, from this one on, that may have something received before. */
  skip(block: number, before: number): number {
    let next = block;
    while ((this.#earliest.get(next) ?? -Infinity) >= before) next++;
    return next;
  }

  /** `null`: nothing is left in the block. */
  remember(block: number, time: number | null | undefined): void {
    if (this.#earliest.size >= MAX_KNOWN_BLOCKS) this.#earliest.clear();
    this.#earliest.set(block, time ?? Infinity);
  }

  forget(): void {
    this.#earliest.clear();
  }
}
