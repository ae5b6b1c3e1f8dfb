import type { Clock, Logger } from "../../core/host.ts";
import type { OperationalState } from "../../storage/operational-state.ts";
import type { Failure, Notices, Outages } from "../context.ts";
import { BRIEF_RETRY, retrying } from "../run/retry.ts";

/** As many as the store remembers. */
const MAX_OUTAGES = 1_000;
/** The least time between two notices of a subject that works and fails by turns. */
const QUIET_MS = 3_600_000;

/** Names that a notice has. */
const MAX_NAMED = 5;
/** Names that are remembered of one outage. */
const MAX_NAMES = 100;

/** An outage as the owner sees it. */
export interface OutageState {
  /** `runs:main`, `channel:telegram`. */
  readonly subject: string;
  /** The words of its notice, and those of others; `null` when it began in an earlier process. */
  readonly text: string | null;
  readonly detail: string | null;
  /** Failures of this process that have a name. */
  readonly failures: number;
}

interface OpenOutage {
  isNotified: boolean;
  /** Of its latest failure. */
  said?: Pick<OutageState, "text" | "detail">;
  /** True when it began in an earlier process, whose failures are not known. */
  readonly isOlder: boolean;
  /** Of those with a name. */
  failures: number;
  readonly names: Set<string>;
}

function newOutage(facts: Pick<OpenOutage, "isNotified" | "isOlder">): OpenOutage {
  return { ...facts, failures: 0, names: new Set() };
}

function count(outage: OpenOutage, name: string | undefined): OpenOutage {
  if (name === undefined) return outage;
  outage.failures++;
  if (outage.names.size < MAX_NAMES) outage.names.add(name);
  return outage;
}

/** Follows the notice that an outage is over. */
function tallyOf({ isOlder, failures, names }: OpenOutage): string {
  if (failures === 0) return "";
  const named = [...names].slice(0, MAX_NAMED).join(", ");
  const more = names.size > MAX_NAMED ? ` and ${names.size - MAX_NAMED} more` : "";
  const many = `${isOlder ? "at least " : ""}${failures} ${failures === 1 ? "failure" : "failures"}`;
  return ` Meanwhile: ${many}, from ${named}${more}.`;
}

/** Follows what is said of runs of any mapping; empty for a direct call. */
export function firstOf(mappingId: string | null): string {
  return mappingId === null ? "" : `; the first came from ${namedOf(mappingId)}`;
}

/** The words for a run's origin in a notice. */
export function namedOf(mappingId: string | null): string {
  return mappingId === null ? "a direct call" : `the mapping ${mappingId}`;
}

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
  /** Subjects that are out of order; those with a notice are on disk too. */
  readonly #open = new Map<string, OpenOutage>();
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

  /** What is out of order. */
  get open(): readonly OutageState[] {
    return Array.from(this.#open, ([subject, { said, failures }]) => {
      const { text, detail } = said ?? { text: null, detail: null };
      return { subject, text, detail, failures };
    });
  }

  /** Reads the open outages whose notice was sent; called once, before the first run. Rejects with a `StoreError`. */
  async load(): Promise<void> {
    for (const subject of await this.#options.store.outages())
      this.#open.set(subject, newOutage({ isNotified: true, isOlder: true }));
  }

  async failed(subject: string, text: string, { detail, of }: Failure = {}): Promise<void> {
    const { logger } = this.#options;
    const known = this.#open.get(subject);
    const said = { text, detail: detail ?? null };
    if (known !== undefined) count(Object.assign(known, { said }), of);
    if (known?.isNotified === true) return;
    if (known === undefined && this.#open.size >= MAX_OUTAGES) {
      logger.warn({ subject, notice: text, detail }, "too many outages; no notice sent");
      return;
    }
    const isNotified = !this.#isQuiet(subject);
    if (known === undefined) this.#open.set(subject, count({ ...newOutage({ isNotified, isOlder: false }), said }, of));
    else known.isNotified = isNotified;
    if (!isNotified) return;
    await this.#track(this.#notify(subject, text, detail));
  }

  works(subject: string, text?: string): Promise<void> | undefined {
    const outage = this.#open.get(subject);
    if (outage === undefined) return undefined;
    this.#open.delete(subject);
    const { logger, notices, clock } = this.#options;
    const { isNotified, failures } = outage;
    logger.info({ subject, failures }, "recovered");
    // No run waits for it.
    if (isNotified && text !== undefined) {
      const key = `recovered:${subject}:${clock.now()}`;
      void this.#track(notices.notify({ key, text: `${text}${tallyOf(outage)}` }));
    }
    return isNotified ? this.#close(subject) : undefined;
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
