import type { Outages } from "../dispatch/context.ts";
import type { Clock, Logger } from "../core/host.ts";
import type { ProbeOperations } from "./operations/probe.ts";

const CHECK_MS = 60_000;

export interface ProbeScheduleOptions {
  readonly probes: ProbeOperations;
  readonly outages: Outages;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the active configuration; `undefined`: never. */
  readonly everyMs: () => number | undefined;
}

/** Probes every mapping now and then; the owner gets one notice when one does not arrive, and one when it does again. */
export class ProbeSchedule {
  readonly #options: ProbeScheduleOptions;
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> | undefined;
  #stopped = false;

  constructor(options: ProbeScheduleOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Resolves when no probe is on its way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#probing;
  }

  #check(): void {
    const { clock, everyMs } = this.#options;
    const every = everyMs();
    const now = clock.now();
    if (every === undefined || now < this.#nextAt || this.#probing !== undefined) return;
    this.#nextAt = now + every;
    this.#probing = this.#probeAll().finally(() => (this.#probing = undefined));
  }

  /** Never rejects. */
  async #probeAll(): Promise<void> {
    const { probes, outages, logger } = this.#options;
    for (const mapping of probes.probeable) {
      if (this.#stopped) return;
      try {
        const { ok, url, detail } = await probes.probe(mapping);
        const subject = `probe:${mapping}`;
        if (ok) void outages.works(subject, `A probe of ${mapping} arrives again.`);
        else
          void outages.failed(
            subject,
            `A probe of ${mapping} at ${url} did not arrive. Try it: reveille probe ${mapping}`,
            { detail },
          );
      } catch (error) {
        // It was removed from the configuration in between.
        logger.warn({ err: error, mapping }, "a probe could not be sent");
      }
    }
  }
}
