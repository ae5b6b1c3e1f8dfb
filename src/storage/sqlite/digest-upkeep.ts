import { type StepDelays, ThrottledSteps } from "../throttled-steps.ts";
import type { SqliteDatabase } from "./engine/database.ts";
import type { DigestStep } from "./readers/digest-builder.ts";
import { BLOCK } from "./readers/delivery-digest.ts";

/** Some 10,000 deliveries a second at most; a store in which nothing changes is looked at no more. */
const PAUSES: StepDelays = { busyMs: 100, idleMs: 60_000 };

/** Digests blocks behind the calls, in the thread for reads, a few at a time. */
export class DigestUpkeep {
  readonly #database: Pick<SqliteDatabase, "read" | "write">;
  readonly #nextSeq: () => number;
  readonly #steps: ThrottledSteps;
  #from = 0;
  /** The number of blocks when all of them had a digest. */
  #lookedAt = 0;
  #isAnyOpen = false;

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

  async #step(): Promise<boolean> {
    const blocks = Math.floor((this.#nextSeq() - 1) / BLOCK);
    if (this.#from === 0 && blocks === this.#lookedAt) return false;
    if (this.#from === 0) this.#isAnyOpen = false;
    const { digests, next, isOpen } = await this.#database.read<DigestStep>("store.missingDigests", this.#from);
    if (digests.length > 0) await this.#database.write("store.addDigests", digests);
    this.#isAnyOpen ||= isOpen;
    this.#from = next ?? 0;
    if (next === null) this.#lookedAt = this.#isAnyOpen ? -1 : blocks;
    return next !== null;
  }
}
