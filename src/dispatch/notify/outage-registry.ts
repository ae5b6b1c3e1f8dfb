import type { Clock, Logger } from "../../core/host.ts";
import type { OperationalState } from "../../storage/operational-state.ts";
import type { Notices, Outages } from "../context.ts";
import { BRIEF_RETRY, retrying } from "../run/retry.ts";

/** As many as the store remembers. */
const MAX_OUTAGES = 1_000;
/** The least time between two notices of a subject that works and fails by turns. */
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
 * Tracks outages. The first failure of a subject sends a notice; further ones do not, until the subject
 * has worked again. An outage that begins within an hour of the last notice of its subject is reported
 * when it outlasts that hour.
 *
 * A notice is stored just before it is sent, so that a restart does not repeat it. A failure without a
 * notice is in memory only: after a restart the next failure sends one.
 */
export class OutageRegistry implements Outages {
  readonly #options: OutageRegistryOptions;
  readonly #abandon: AbortSignal;
  /** Subjects that are out of order, and whether a notice was sent; those with a notice are on disk too. */
  readonly #open = new Map<string, boolean>();
  /** Time of the latest notice of a subject; the oldest is forgotten first. */
  readonly #toldAt = new Map<string, number>();
  /** Notices that are being given, one for each subject in an hour. */
  readonly #notifying = new Set<Promise<void>>();
  /** Writes go one after the other: an outage is not opened before the last one of its subject is closed. */
  #written: Promise<unknown> = Promise.resolve();

  constructor(options: OutageRegistryOptions) {
    this.#options = options;
    this.#abandon = options.abandon ?? new AbortController().signal;
  }

  /** Subjects that are out of order. */
  get open(): number {
    return this.#open.size;
  }

  /** Reads the open outages whose notice was sent; called once, before the first run. Rejects with a `StoreError`. */
  async load(): Promise<void> {
    for (const subject of await this.#options.store.outages()) this.#open.set(subject, true);
  }

  async failed(subject: string, text: string, detail?: string): Promise<void> {
    const { logger } = this.#options;
    const isTold = this.#open.get(subject);
    if (isTold === true) return;
    if (isTold === undefined && this.#open.size >= MAX_OUTAGES) {
      logger.warn({ subject, notice: text, detail }, "too many outages; no notice sent");
      return;
    }
    const isQuiet = this.#isQuiet(subject);
    this.#open.set(subject, !isQuiet);
    if (isQuiet) return;
    await this.#track(this.#notify(subject, text, detail));
  }

  works(subject: string, text?: string): Promise<void> | undefined {
    const isTold = this.#open.get(subject);
    if (isTold === undefined) return undefined;
    this.#open.delete(subject);
    const { logger, notices, clock } = this.#options;
    logger.info({ subject }, "recovered");
    // No run waits for it.
    if (isTold && text !== undefined)
      void this.#track(notices.notify({ key: `recovered:${subject}:${clock.now()}`, text }));
    return isTold ? this.#close(subject) : undefined;
  }

  async #track(notifying: Promise<void>): Promise<void> {
    this.#notifying.add(notifying);
    await notifying;
    this.#notifying.delete(notifying);
  }

  async written(): Promise<void> {
    await Promise.all(this.#notifying);
    await this.#written;
  }

  async #notify(subject: string, text: string, detail: string | undefined): Promise<void> {
    const { store, clock, notices } = this.#options;
    const since = clock.now();
    this.#rememberTold(subject, since);
    const isNew = await this.#write(() => store.openOutage({ subject, since }), "opened");
    // Notify even if it could not be stored: twice is better than never.
    if (isNew !== false) await notices.notify({ key: `outage:${subject}:${since}`, text, detail });
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
