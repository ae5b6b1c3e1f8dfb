/** What the owner and the log learn of one subscription to events. */
import { reasonLine } from "../../../../core/reason-of.ts";
import type { Clock, Logger } from "../../../../core/host.ts";
import type { Operations } from "../../../../index.ts";
import { EventServerError } from "./event-server.ts";

export interface EventNoticesOptions {
  /** The name in the configuration. */
  readonly name: string;
  readonly url: string;
  readonly outages: () => Operations["outages"];
  readonly clock: Clock;
  readonly logger: Logger;
}

const SILENT_TRIES = 3;
/** Failures that are so far apart do not count as one streak. */
const STREAK_MS = 600_000;
/** Answers that the owner has to do something about. */
const FINAL_STATUS: ReadonlySet<number | undefined> = new Set([400, 401, 403, 404]);
const FINAL_CODE: ReadonlySet<number | undefined> = new Set([-32_601, -32_602, -32_011, -32_012, -32_014]);

/** Each is one notice for as long as it lasts. */
export class EventNotices {
  readonly #options: EventNoticesOptions;
  readonly #subject: string;
  #tries = 0;
  #failedAt = 0;

  constructor(options: EventNoticesOptions) {
    this.#options = options;
    this.#subject = `subscription:${options.name}`;
  }

  /** Counts a failure; returns the number of those in a row. */
  async failed(error: unknown): Promise<number> {
    const { name, url, clock, logger, outages } = this.#options;
    const now = clock.now();
    if (now - this.#failedAt > STREAK_MS) this.#tries = 0;
    this.#failedAt = now;
    this.#tries++;
    const reason = reasonLine(error);
    logger.warn({ subscription: name, tries: this.#tries, reason }, "subscription failed; it is tried again");
    const { status, code } = error instanceof EventServerError ? error : {};
    if (FINAL_STATUS.has(status) || FINAL_CODE.has(code) || this.#tries >= SILENT_TRIES) {
      const text = `The subscription ${name} to events of ${new URL(url).host} fails: events may not arrive. It is tried again. See: reveille doctor`;
      await outages().failed(this.#subject, text, { detail: reason });
    }
    return this.#tries;
  }

  async works(): Promise<void> {
    await this.#options.outages().works(this.#subject, `The subscription ${this.#options.name} works again.`);
  }

  /** The server has no longer what came after the cursor. */
  async gap(): Promise<void> {
    const { name, outages, logger } = this.#options;
    logger.warn({ subscription: name }, "the server says that events are missing");
    const text = `The server of the subscription ${name} no longer has some of its events: this gateway never gets them. Later ones arrive.`;
    await outages().failed(`${this.#subject}:gap`, text);
  }

  async noGap(): Promise<void> {
    await this.#options.outages().works(`${this.#subject}:gap`);
  }

  /** Events exceed a limit, and would at every other try. */
  async refused(detail: string): Promise<void> {
    const { name, logger, outages } = this.#options;
    logger.warn({ subscription: name, reason: detail }, "events of a subscription were refused");
    const text = `Events of the subscription ${name} exceed a limit of the gateway and are left out. The log says which.`;
    await outages().failed(`${this.#subject}:refused`, text, { detail });
  }

  /** The server tries again from now on. */
  undelivered(reason: string): void {
    const { name, logger } = this.#options;
    logger.warn({ subscription: name, reason }, "the server could not deliver events lately");
  }

  /** The owner wants it no more. */
  async ended(): Promise<void> {
    const { outages } = this.#options;
    for (const what of ["", ":gap", ":refused"]) await outages().works(`${this.#subject}${what}`);
  }
}
