import { type StepDelays, ThrottledSteps } from "../throttled-steps.ts";
import type { SqliteDatabase } from "./engine/database.ts";
import type { DigestStep } from "./readers/digest-builder.ts";
import { BLOCK } from "./readers/delivery-digest.ts";

/** Some 40,000 deliveries a second at most; a store in which nothing changes is looked at no more. */
const PAUSES: StepDelays = { busyMs: 25, idleMs: 5_000 };
/** New blocks that are too few to wake the thread for reads, and the steps after which it is woken for one. */
const FEW_BLOCKS = 16;
const RESTS = 12;

/** Digests blocks behind the calls, in the thread for reads, a few at a time. */
export class DigestUpkeep {
  readonly #database: Pick<SqliteDatabase, "read" | "write">;
  readonly #nextSeq: () => number;
  readonly #steps: ThrottledSteps;
  #from = 0;
  /** True until the steps have come to the last full block. */
  #hasMore = true;
  /** The number of blocks when the steps came to the last one. */
  #lookedAt = 0;
  /** Pauses since then. */
  #rests = 0;
  #hasNewReason = false;
  /** The first block that lost its digest since the steps went past it. */
  #firstOutdated = Infinity;

  constructor(database: Pick<SqliteDatabase, "read" | "write">, nextSeq: () => number, pauses = PAUSES) {
    this.#database = database;
    this.#nextSeq = nextSeq;
    // A search reads what has no digest, so that a failure only costs time; the next step tries again.
    this.#steps = new ThrottledSteps({ step: () => this.#step(), onFailure: () => undefined, delays: pauses });
  }

  start(): void {
    this.#steps.start();
  }

  stop(): Promise<void> {
    return this.#steps.stop();
  }

  /** To be called when a run gets a reason: the digest of its block goes. */
  noteReason(): void {
    this.#hasNewReason = true;
  }

  async #step(): Promise<boolean> {
    const blocks = Math.floor((this.#nextSeq() - 1) / BLOCK);
    if (!this.#isDue(blocks)) return false;
    const { digests, next, isLast } = await this.#database.read<DigestStep>("store.missingDigests", this.#from);
    if (digests.length > 0 || this.#hasNewReason) {
      this.#hasNewReason = false;
      const outdated = await this.#database.write<number | undefined>("store.addDigests", digests);
      this.#firstOutdated = Math.min(this.#firstOutdated, outdated ?? Infinity);
    }
    this.#from = next;
    this.#hasMore = !isLast;
    if (!isLast) return true;
    [this.#lookedAt, this.#rests] = [blocks, 0];
    return false;
  }

  #isDue(blocks: number): boolean {
    const isNew = blocks > this.#lookedAt;
    if (this.#hasMore) return blocks > 0;
    if (blocks - this.#lookedAt < FEW_BLOCKS && ++this.#rests < RESTS) return false;
    if (!isNew && !this.#hasNewReason && this.#firstOutdated === Infinity) return false;
    // Not before the pause: a block may lose its digest again at once.
    this.#from = Math.min(this.#from, this.#firstOutdated);
    this.#firstOutdated = Infinity;
    return true;
  }
}
