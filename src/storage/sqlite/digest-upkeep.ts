import { type StepDelays, ThrottledSteps } from "../throttled-steps.ts";
import type { SqliteDatabase } from "./engine/database.ts";
import type { AddedDigests, NewDigests } from "./operations/digests.ts";
import type { DigestStep } from "./readers/digest-builder.ts";
import { BLOCK } from "./readers/delivery-digest.ts";

/** Some 40,000 deliveries a second at most; a store in which nothing changes is looked at no more. */
const PAUSES: StepDelays = { busyMs: 25, idleMs: 5_000 };
/** Fewer new blocks do not start the thread for reads, until so many pauses have passed. */
const FEW_BLOCKS = 16;
const MAX_PAUSES = 12;

/** Digests blocks behind the calls, in the thread for reads, a few at a time. */
export class DigestUpkeep {
  readonly #database: Pick<SqliteDatabase, "read" | "write">;
  readonly #nextSeq: () => number;
  readonly #steps: ThrottledSteps;
  #from = 0;
  /** True until the steps have come to the last full block. */
  #hasMore = true;
  /** The number of blocks when the steps came to the last one, and the pauses since. */
  #lookedAt = 0;
  #pauses = 0;
  /** True when blocks may have lost their digests since the steps asked for the first of them. */
  #hasNewReason = false;
  /** The first block that lost its digest after the steps went past it. */
  #firstOutdated = Infinity;
  /** What answered when digests were added last: a writer takes none that were read under another one. */
  #writer: string | undefined;

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

  /** To be called when a run gets a reason: its block loses the digest. */
  noteReason(): void {
    this.#hasNewReason = true;
  }

  async #step(): Promise<boolean> {
    const blocks = Math.floor((this.#nextSeq() - 1) / BLOCK);
    if (!this.#isDue(blocks)) return false;
    if (!this.#hasMore || this.#writer === undefined) await this.#startOver();
    const { digests, next, isLast } = await this.#database.read<DigestStep>("store.missingDigests", this.#from);
    if (digests.length > 0) await this.#add(digests);
    this.#from = next;
    this.#hasMore = !isLast;
    if (isLast) [this.#lookedAt, this.#pauses] = [blocks, 0];
    return !isLast;
  }

  #isDue(blocks: number): boolean {
    if (this.#hasMore) return blocks > 0;
    if (blocks - this.#lookedAt < FEW_BLOCKS && ++this.#pauses < MAX_PAUSES) return false;
    return blocks > this.#lookedAt || this.#hasNewReason || this.#firstOutdated < Infinity;
  }

  /** Only after a pause: the block of a run that fails again and again would be digested without end. */
  async #startOver(): Promise<void> {
    if (this.#hasNewReason || this.#writer === undefined) await this.#add([]);
    this.#from = Math.min(this.#from, this.#firstOutdated);
    this.#firstOutdated = Infinity;
    this.#hasMore = true;
  }

  async #add(digests: NewDigests["digests"]): Promise<void> {
    this.#hasNewReason = false;
    const args: NewDigests = { digests, writer: this.#writer };
    const { writer, outdated } = await this.#database.write<AddedDigests>("store.addDigests", args);
    // Which blocks lost their digests under another writer is not known any more.
    this.#firstOutdated = writer === this.#writer ? Math.min(this.#firstOutdated, outdated ?? Infinity) : 0;
    this.#writer = writer;
  }
}
