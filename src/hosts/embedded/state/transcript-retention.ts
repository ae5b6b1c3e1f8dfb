import type { Logger } from "../../../core/host.ts";
import { ThrottledSteps } from "../../../storage/throttled-steps.ts";
import type { StepDelays } from "../../../storage/throttled-steps.ts";
import type { EmbeddedSessions } from "../sessions.ts";

export interface TranscriptRetentionOptions {
  readonly sessions: Pick<EmbeddedSessions, "forgetRuns">;
  readonly logger: Logger;
  readonly pauses?: StepDelays | undefined;
}

/**
 * Removes the transcripts of isolated runs after `session.isolatedRetention`, and the oldest while all of
 * them count for more than `session.isolatedMaxBytes`, a short step at a time.
 */
export class TranscriptRetention {
  readonly #sessions: Pick<EmbeddedSessions, "forgetRuns">;
  readonly #steps: ThrottledSteps;
  #after = 0;

  constructor({ sessions, logger, pauses }: TranscriptRetentionOptions) {
    this.#sessions = sessions;
    this.#steps = new ThrottledSteps({
      step: () => this.#forget(),
      onFailure: (error) => {
        logger.error({ err: error }, "old transcripts could not be removed; the next try is in a minute");
      },
      delays: pauses,
    });
  }

  start(): void {
    this.#steps.start();
  }

  /** To be awaited before the database is closed. */
  stop(): Promise<void> {
    return this.#steps.stop();
  }

  async #forget(): Promise<boolean> {
    const { next } = await this.#sessions.forgetRuns(this.#after);
    this.#after = next ?? 0;
    return next !== null;
  }
}
