import { CHAIN_HEADER } from "../../core/chain.ts";
import type { CallbacksConfig } from "../../config/callbacks.ts";
import type { SettledState, ReplyOutcome } from "../../core/run.ts";
import { FetchError, isSuccess } from "../../http/guarded-fetch.ts";
import { messageId, signMessage } from "../../http/sign-message.ts";
import { isCallbackHost } from "../../policy/callback-url.ts";
import type { DispatchContext, RetryLater, ActiveRun } from "../context.ts";
import type { CallerError } from "./caller-error.ts";
import { fullJitter } from "./full-jitter.ts";
import type { RetryCounters } from "./retry-counters.ts";

/** The result of a run as its caller receives it. */
export interface RunResult {
  readonly state: SettledState;
  /** The whole reply; `null` when there is none. */
  readonly reply: string | null;
  /** `undefined` unless the run failed. */
  readonly failure: CallerError | undefined;
  readonly delivery: ReplyOutcome;
}

/** The final outcome; with a reason when the caller could not be notified. */
export interface CalledBack {
  readonly reason?: string;
}

/** Time that one callback may take. */
export const CALLBACK_TIMEOUT_MS = 10_000;
/** Statuses below 500 that say that the same request may be taken later. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Reports results to callers: a POST of JSON, signed by Standard Webhooks, with an id that is
 * the same for every try. The URL's host is checked against the active configuration again.
 */
export class RunCallback {
  readonly #context: DispatchContext;
  readonly #notes: RetryCounters;

  constructor(context: DispatchContext, notes: RetryCounters) {
    this.#context = context;
    this.#notes = notes;
  }

  /** Never rejects; when the run is ending, the outcome is worth nothing. */
  async call(run: ActiveRun, url: string, result: RunResult): Promise<CalledBack | RetryLater> {
    const callbacks = this.#context.callbacks();
    const hostname = URL.parse(url)?.hostname;
    if (!callbacks || hostname === undefined || !isCallbackHost(hostname, callbacks)) {
      return { reason: "the callback was not sent: hooks.callbacks.hosts does not allow its host any more" };
    }
    const failure = await this.#post(run, { url, result, callbacks });
    if (failure === undefined) return {};
    const { clock, rulesFor } = this.#context;
    const policy = rulesFor(run.mappingId).retry.deliveries;
    const note = this.#notes.of(run.stored.runId);
    note.posts++;
    if (!failure.retryable || note.posts >= policy.attempts) {
      return { reason: `the callback to ${hostname} failed: ${failure.message}` };
    }
    return {
      dueAt: clock.now() + fullJitter(policy, note.posts),
      reason: `the callback to ${hostname} failed at try ${note.posts} of ${policy.attempts}, it is tried again: ${failure.message}`,
    };
  }

  async #post(
    { stored, spec, chain, ending }: ActiveRun,
    { url, result, callbacks }: { url: string; result: RunResult; callbacks: CallbacksConfig },
  ): Promise<FetchError | undefined> {
    const { runId, deliveryId } = stored;
    const { state, reply, failure, delivery } = result;
    const { error = null, code = null } = failure ?? {};
    const body = JSON.stringify({ type: "run.settled", runId, deliveryId, state, reply, error, code, delivery });
    const id = messageId(`${runId}:callback`);
    const signature = signMessage(body, { id, atMs: this.#context.clock.now(), secret: callbacks.secret });
    const { traceparent } = spec;
    const headers: Record<string, string> = {
      ...signature,
      "content-type": "application/json",
      [CHAIN_HEADER]: chain.mark,
    };
    if (traceparent !== undefined) headers["traceparent"] = traceparent;
    try {
      const { status } = await this.#context.fetch(url, { signal: ending, post: { headers, body } });
      if (isSuccess(status)) return undefined;
      const retryable = status >= 500 || RETRYABLE_STATUSES.has(status);
      return new FetchError(`it answers with status ${status}`, { retryable });
    } catch (thrown) {
      return thrown instanceof FetchError ? thrown : new FetchError("it could not be sent", { cause: thrown });
    }
  }
}
