import type { Logger } from "../../core/host.ts";
import { isRefusedForNow } from "./error-classifier.ts";
import { afterPrompt } from "./run-end.ts";
import type { OpenClawSubagent } from "./sdk.ts";
import type { SessionUse, SessionUses } from "./session-uses.ts";

/** Messages of a run's session that are read for its outcome. */
const MESSAGES = 50;
/** The number of times that the host is asked to end a run or to show its reply, and the wait in between. */
const TRIES = 3;
const RETRY_DELAY_MS = 200;
/** As long as a reload of the plugin may take: a host that refused the turn for it shows the messages after that. */
const RELOAD_MS = 60_000;

export interface RunSessionsOptions {
  readonly subagent: Pick<OpenClawSubagent, "getSessionMessages" | "deleteSession">;
  readonly logger: Logger;
}

/**
 * Asks the host about the sessions of runs. While the host reloads the plugin or restarts, it refuses every call of the
 * instance that it replaces, for as long as a minute. Then it stops that instance, or takes its calls again. Given a
 * signal, a call waits for either: a run that ended meanwhile is not taken for one whose end is unknown.
 */
export class RunSessions {
  readonly #options: RunSessionsOptions;
  readonly #uses: SessionUses;

  constructor(options: RunSessionsOptions, uses: SessionUses) {
    this.#options = options;
    this.#uses = uses;
  }

  /**
   * The messages of the run; `undefined` when the host does not show them. `wasRefused`: the host refused its turn, and
   * is asked for the time of a reload, whatever it answers meanwhile.
   */
  async messages(
    session: string,
    prompt: string,
    { ending, wasRefused }: { readonly ending: AbortSignal; readonly wasRefused: boolean },
  ): Promise<readonly unknown[] | undefined> {
    const { subagent, logger } = this.#options;
    const read = await ask(() => subagent.getSessionMessages({ sessionKey: session, limit: MESSAGES }), {
      ending,
      patienceMs: wasRefused ? RELOAD_MS : 0,
    });
    if ("value" in read) return afterPrompt(read.value.messages, prompt);
    logger.debug({ err: read.error, session }, "the messages of a run could not be read");
    return undefined;
  }

  /**
   * Ends whatever runs in the session; one that is not there is none. False when that is not certain, or another run
   * has the session: it is asked for no more then.
   */
  async end(
    session: string,
    { ending, own }: { readonly ending?: AbortSignal | undefined; readonly own?: SessionUse } = {},
  ): Promise<boolean> {
    return this.#uses.remove(session, (isWanted) => this.#remove(session, { ending, isWanted }), own);
  }

  async #remove(
    session: string,
    { ending, isWanted }: { readonly ending: AbortSignal | undefined; readonly isWanted: () => boolean },
  ): Promise<boolean> {
    const { subagent, logger } = this.#options;
    const ended = await ask(() => subagent.deleteSession({ sessionKey: session }), { ending, isWanted });
    if ("value" in ended) return true;
    logger.debug({ err: ended.error, session }, "the session of a run could not be removed");
    return false;
  }
}

/** How long the host is asked for something. */
interface Patience {
  readonly ending: AbortSignal | undefined;
  readonly patienceMs?: number;
  /** False: the answer is no longer of use. */
  readonly isWanted?: () => boolean;
}

async function ask<Value>(
  call: () => Promise<Value>,
  { ending, patienceMs = 0, isWanted = () => true }: Patience,
): Promise<{ value: Value } | { error: unknown }> {
  const patientUntil = performance.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return { value: await call() };
    } catch (error) {
      const waits = ending?.aborted === false && (isRefusedForNow(error) || performance.now() < patientUntil);
      if (attempt >= TRIES && !waits) return { error };
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
      if (!isWanted()) return { error };
    }
  }
}
