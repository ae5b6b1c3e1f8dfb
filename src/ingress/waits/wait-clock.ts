import { isRefusal, type Refusal } from "../../core/errors.ts";
import type { RunSpec } from "../../core/run.ts";
import type { ActiveConfig } from "../active-config.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import { commit, isStale } from "../commit.ts";
import type { IngressContext } from "../context.ts";
import { stopsReplays } from "../replay.ts";
import { afterQuiet, quietUntil, type WaitStep } from "./progress.ts";
import { resumeByTime, WAIT_ROUTE } from "./resume.ts";
import type { KnownWait, WaitBook } from "./wait-book.ts";

const LOOK_MS = 1_000;

export interface WaitClockOptions {
  readonly ingress: IngressContext;
  readonly book: WaitBook;
  readonly active: () => ActiveConfig;
}

/** Ends waits whose time has come, also where that was while no gateway ran. One gateway does so for all. */
export class WaitClock {
  readonly #options: WaitClockOptions;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;
  #stopped = false;
  /** Those whose failure is in the log. */
  readonly #reported = new WeakSet<KnownWait>();

  constructor(options: WaitClockOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#work ??= this.#look().finally(() => (this.#work = undefined));
    }, LOOK_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#work;
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { ingress, book } = this.#options;
    try {
      if (ingress.store.shared !== undefined) await book.refresh();
      await this.endDue();
    } catch (error) {
      ingress.host.logger.warn({ err: error }, "the waits could not be looked through");
    }
  }

  /** Ends what is due now; one that cannot be ended keeps no other waiting. Rejects with a `StoreError`. */
  async endDue(): Promise<void> {
    const { ingress, book } = this.#options;
    const now = ingress.host.clock.now();
    for (const known of book.all()) {
      if (this.#stopped) return;
      try {
        await this.#endIfDue(known, now);
      } catch (error) {
        if (error instanceof StoreError) throw error;
        this.#report(known, error);
      }
    }
  }

  /** Ends one wait if it is due: an event that comes before the next look counts for what follows. Never rejects. */
  async endNow(known: KnownWait): Promise<void> {
    try {
      await this.#endIfDue(known, this.#options.ingress.host.clock.now());
    } catch (error) {
      this.#report(known, error);
    }
  }

  /** Once for each: it is tried again every second. */
  #report(known: KnownWait, error: unknown): void {
    if (this.#reported.has(known)) return;
    this.#reported.add(known);
    const { logger } = this.#options.ingress.host;
    logger.error({ err: error, wait: known.wait.id }, "a wait could not be ended; it is tried again");
  }

  async #endIfDue(known: KnownWait, now: number): Promise<void> {
    const { wait } = known;
    const quiet = quietUntil(wait);
    if (quiet !== undefined && quiet <= now) {
      const outcome = `Fulfilled: nothing that it excludes came until ${new Date(quiet).toISOString()}.`;
      await this.#end(known, { outcome, step: afterQuiet(wait, now) });
    } else if (wait.until <= now) {
      const outcome = `Not fulfilled until its deadline, ${new Date(wait.until).toISOString()}.`;
      await this.#end(known, { outcome, step: { next: null, fires: true, seen: wait.seen } });
    }
  }

  async #end(
    known: KnownWait,
    { outcome, step }: { readonly outcome: string; readonly step: WaitStep },
  ): Promise<void> {
    const { ingress, book, active } = this.#options;
    const { wait } = known;
    const at = ingress.host.clock.now();
    const spec = await resumeByTime(ingress, active(), { wait, outcome, at });
    const ended = isRefusal(spec) ? spec : await this.#store(known, { spec, step, outcome, at });
    if (ended === undefined || stopsReplays(ended)) return;
    ingress.host.logger.error(
      { wait: wait.id, reason: ended.message },
      "a wait has ended, and its session cannot be resumed",
    );
    await ingress.store.removeWait(wait.id);
    book.forget(wait.id);
  }

  /** Another gateway, or a call, may have been faster: it is looked at again then. */
  async #store(
    { wait, version }: KnownWait,
    end: { readonly spec: RunSpec; readonly step: WaitStep; readonly outcome: string; readonly at: number },
  ): Promise<Refusal | undefined> {
    const { ingress, book, active } = this.#options;
    const { spec, step, outcome, at } = end;
    const content = step.next === null ? null : JSON.stringify(step.next);
    const delivery = {
      receivedAt: at,
      route: WAIT_ROUTE,
      mappingId: null,
      name: spec.name,
      headers: {},
      query: {},
      body: Buffer.from(JSON.stringify({ wait: wait.id, note: wait.note, outcome })),
      level: wait.level,
      credentialId: null,
      runs: [{ lane: spec.sessionKey, spec }],
      waits: { mark: book.mark, changes: [{ id: wait.id, version, content }] },
    };
    try {
      const stored = await commit(ingress, active(), delivery, [spec]);
      return isRefusal(stored) ? stored : undefined;
    } catch (error) {
      if (!isStale(error)) throw error;
      await book.refresh({ all: true });
      return undefined;
    }
  }
}
