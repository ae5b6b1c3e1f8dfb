import type { Clock, Logger } from "../../core/host.ts";
import type { OperationalState } from "../../storage/operational-state.ts";
import type { Notices, Outages } from "../context.ts";
import { BRIEF_RETRY, retrying } from "../run/retry.ts";

/** As many as the store remembers. */
const MAX_OUTAGES = 1_000;
/** What works and fails by turns is told of so often at most. */
const QUIET_MS = 3_600_000;

export interface OutageRegistryOptions {
  readonly store: Pick<OperationalState, "openOutage" | "closeOutage" | "outages">;
  readonly notices: Notices;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Aborted when there is no time left to try a write again. */
  readonly abandon?: AbortSignal;
}

/**
 * What is out of order. The first failure of a subject makes a notice and all further ones none, until the
 * subject has worked again. An outage that begins within an hour of the last notice of its subject is told
 * when it outlasts that hour.
 *
 * What is told is stored just before, so that a restart does not tell it again. What is not told yet is
 * remembered in memory only: after a restart the next failure is told.
 */
export class OutageRegistry implements Outages {
  readonly #options: OutageRegistryOptions;
  readonly #abandon: AbortSignal;
  /** Subjects that are out of order, and whether that was told; those that were are on disk too. */
  readonly #open = new Map<string, boolean>();
  /** When the latest notice of a subject was given; the oldest is forgotten first. */
  readonly #toldAt = new Map<string, number>();
  /** Notices that are being given, one for each subject in an hour. */
  readonly #telling = new Set<Promise<void>>();
  /** Writes go one after the other: an outage is not opened before the last one of its subject is closed. */
  #written: Promise<unknown> = Promise.resolve();

  constructor(options: OutageRegistryOptions) {
    this.#options = options;
    this.#abandon = options.abandon ?? new AbortController().signal;
  }

  /** Reads which outages were told and go on; called once, before the first run. Rejects with a `StoreError`. */
  async load(): Promise<void> {
    for (const subject of await this.#options.store.outages()) this.#open.set(subject, true);
  }

  async failed(subject: string, text: string, detail?: string): Promise<void> {
    const { logger } = this.#options;
    const isTold = this.#open.get(subject);
    if (isTold === true) return;
    if (isTold === undefined && this.#open.size >= MAX_OUTAGES) {
      logger.warn(
        { subject, notice: text, detail },
        "too many things are out of order; no notice is given of this one",
      );
      return;
    }
    const isQuiet = this.#isQuiet(subject);
    this.#open.set(subject, !isQuiet);
    if (isQuiet) return;
    const telling = this.#tell(subject, text, detail);
    this.#telling.add(telling);
    await telling;
    this.#telling.delete(telling);
  }

  works(subject: string): Promise<void> | undefined {
    const isTold = this.#open.get(subject);
    if (isTold === undefined) return undefined;
    this.#open.delete(subject);
    this.#options.logger.info({ subject }, "what was out of order works again");
    return isTold ? this.#close(subject) : undefined;
  }

  async told(): Promise<void> {
    await Promise.all(this.#telling);
    await this.#written;
  }

  async #tell(subject: string, text: string, detail: string | undefined): Promise<void> {
    const { store, clock, notices } = this.#options;
    const since = clock.now();
    this.#rememberTold(subject, since);
    const isNew = await this.#write(() => store.openOutage({ subject, since }), "opened");
    // One that could not be stored is told all the same: twice is better than never.
    if (isNew !== false) await notices.tell({ key: `outage:${subject}:${since}`, text, detail });
  }

  #rememberTold(subject: string, atMs: number): void {
    this.#toldAt.delete(subject);
    this.#toldAt.set(subject, atMs);
    if (this.#toldAt.size > MAX_OUTAGES) this.#toldAt.delete(this.#toldAt.keys().next().value!);
  }

  #isQuiet(subject: string): boolean {
    const toldAt = this.#toldAt.get(subject);
    if (toldAt === undefined) return false;
    const passedMs = this.#options.clock.now() - toldAt;
    return passedMs >= 0 && passedMs < QUIET_MS;
  }

  async #close(subject: string): Promise<void> {
    await this.#write(() => this.#options.store.closeOutage(subject), "closed");
  }

  /** `undefined` when it could not be written. */
  async #write(write: () => Promise<boolean>, what: string): Promise<boolean | undefined> {
    const before = this.#written;
    const written = before.then(() => retrying(write, BRIEF_RETRY, this.#abandon));
    const settled = written.catch((error: unknown) => {
      this.#options.logger.error({ err: error, outage: what }, "an outage could not be recorded");
      return undefined;
    });
    this.#written = settled;
    return settled;
  }
}
