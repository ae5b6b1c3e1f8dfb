import type { ReplyOutcome } from "../../core/run.ts";
import { type ChannelTarget, HostError } from "../../core/host.ts";
import { suppression } from "../../core/suppression.ts";
import { firstOf, namedOf } from "../notify/outage-registry.ts";
import type { DispatchContext, RetryLater, ActiveRun } from "../context.ts";
import type { Turns } from "../turns/turns.ts";
import { withTimeout } from "./with-timeout.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { fullJitter } from "./full-jitter.ts";
import { isRetryable } from "./retry.ts";
import type { RetryCounter, RetryCounters } from "./retry-counters.ts";
import { isRetryLater } from "../context.ts";

/** The outcome of sending a reply. */
export interface Delivered {
  readonly outcome: ReplyOutcome;
  /** Why; absent when the outcome says it all. */
  readonly reason?: string | undefined;
}

/** Another gateway may have the runs by then. */
const CHANNEL_WAIT_MS = 10_000;

type Place = "sends" | "fallbackSends";
/** A channel's failure to send a message; `undefined` on success. */
type Refused = { readonly refused: string } | RetryLater | undefined;

/**
 * Takes replies to the target that was fixed when the call was accepted, and to the fallback when that
 * one fails permanently. A try that may succeed later is postponed, so that no run waits for a channel;
 * nothing of the run is repeated but the message, under the same key.
 */
export class ReplySender {
  readonly #context: DispatchContext;
  readonly #notes: RetryCounters;
  readonly #turns: Pick<Turns, "hasChannelElsewhere">;

  constructor(context: DispatchContext, notes: RetryCounters, turns: Pick<Turns, "hasChannelElsewhere">) {
    this.#context = context;
    this.#notes = notes;
    this.#turns = turns;
  }

  /** Sends the reply; when the run is ending and the reply was not sent, the outcome is worth nothing. */
  async deliver(run: ActiveRun, reply: string): Promise<Delivered | RetryLater> {
    const { stored, spec } = run;
    const { delivery } = spec;
    if (stored.steps.includes("delivered")) return this.#remembered(run, reply);
    if (!delivery) return missing(run);
    const suppressed = spec.mode === "deliver" ? undefined : suppression(reply);
    if (suppressed !== undefined) return { outcome: "suppressed", reason: `not delivered: ${suppressed}` };
    const why = "channel" in delivery ? await this.#toTarget(run, delivery, reply) : unresolved(delivery);
    if (why === undefined) return { outcome: "sent" };
    if (typeof why !== "string") return why;
    return run.ending.aborted ? { outcome: "failed" } : this.#toFallback(run, reply, why);
  }

  /** Why the target does not have the reply; `undefined` when it has. */
  async #toTarget(run: ActiveRun, target: ChannelTarget, text: string): Promise<string | RetryLater | undefined> {
    const { stored, spec } = run;
    const given = this.#notes.peek(stored.runId)?.unsent;
    if (given !== undefined) return given;
    const refused = await this.#send(run, target, { text, place: "sends", key: "reply" });
    if (refused === undefined || isRetryLater(refused)) return refused;
    if (spec.fallback) this.#notes.of(stored.runId).unsent = refused.refused;
    return refused.refused;
  }

  async #toFallback(run: ActiveRun, text: string, why: string): Promise<Delivered | RetryLater> {
    const { delivery, fallback } = run.spec;
    const outcome = delivery && "channel" in delivery ? "failed" : "no-target";
    if (!fallback) return { outcome, reason: why };
    if (!("channel" in fallback)) return { outcome, reason: `${why}; nor to the fallback: ${fallback.unresolved}` };
    const refused = await this.#send(run, fallback, { text, place: "fallbackSends", key: "fallback" });
    if (refused === undefined) {
      return { outcome: "fallback", reason: `${why}; it was sent to the fallback ${fallback.channel} instead` };
    }
    if (isRetryLater(refused)) return { ...refused, reason: `${why}; ${refused.reason}` };
    return { outcome: "failed", reason: `${why}; ${refused.refused}` };
  }

  async #send(
    run: ActiveRun,
    target: ChannelTarget,
    { text, place, key }: { text: string; place: Place; key: string },
  ): Promise<Refused> {
    const { host, clock, outages, measurements } = this.#context;
    const { channel } = target;
    if (this.#turns.hasChannelElsewhere(channel) && !host.channels.list().some(({ id }) => id === channel)) {
      const reason = `the reply waits for a gateway that has the channel ${channel}`;
      return { dueAt: clock.now() + CHANNEL_WAIT_MS, reason };
    }
    try {
      const { traceparent, sessionKey } = run.spec;
      const message = {
        ...target,
        text,
        idempotencyKey: `${run.stored.runId}:${key}`,
        sessionKey,
        traceparent,
        mark: run.chain.mark,
      };
      await withTimeout(host.channels.send(message), run.ending);
    } catch (error) {
      return run.ending.aborted ? { refused: reasonOf(error) } : this.#refused(run, target, { error, place });
    }
    measurements.replies.add(target.channel, "sent");
    await outages.works(`channel:${target.channel}`, `Replies are delivered on the channel ${target.channel} again.`);
    return undefined;
  }

  async #refused(
    run: ActiveRun,
    { channel }: ChannelTarget,
    { error, place }: { error: unknown; place: Place },
  ): Promise<Refused> {
    const { clock, outages, rulesFor, measurements } = this.#context;
    const policy = rulesFor(run.mappingId).retry.deliveries;
    const tries = isRetryable(error) ? countTry(this.#notes.of(run.stored.runId), place) : policy.attempts;
    const words = reasonOf(error);
    if (tries < policy.attempts) {
      measurements.replies.add(channel, "postponed");
      return {
        // A channel that says how long it takes nothing is not asked before.
        dueAt: clock.now() + Math.max(fullJitter(policy, tries), retryAfterMsOf(error)),
        reason: `delivery to ${channel} failed at try ${tries} of ${policy.attempts}, it is tried again: ${words}`,
      };
    }
    measurements.replies.add(channel, "failed");
    const refused = `delivery to ${channel} failed: ${words}`;
    // The notice may go to the same channel: the run must not wait for it.
    void outages.failed(
      `channel:${channel}`,
      `Replies cannot be delivered on the channel ${channel}${firstOf(run.mappingId)}. They are kept: reveille deliveries list --state failed`,
      { detail: words, of: namedOf(run.mappingId) },
    );
    return { refused };
  }

  /** The recorded outcome, with its reason if that is still known. */
  #remembered({ stored, spec }: ActiveRun, reply: string): Delivered {
    const outcome = stored.replyOutcome;
    const noted = this.#notes.peek(stored.runId)?.delivery;
    if (noted !== undefined) return { outcome, reason: noted };
    const { delivery } = spec;
    if (outcome === "suppressed")
      return { outcome, reason: `not delivered: ${suppression(reply) ?? "nothing to say"}` };
    if (outcome === "no-target" && delivery && !("channel" in delivery)) {
      return { outcome, reason: unresolved(delivery) };
    }
    if (outcome === "failed") return { outcome, reason: "the reply could not be delivered" };
    return outcome === "fallback" ? { outcome, reason: "the reply was sent to the fallback" } : { outcome };
  }
}

function unresolved(target: { readonly unresolved: string }): string {
  return `not delivered: ${target.unresolved}`;
}

function missing({ spec }: ActiveRun): Delivered {
  return spec.mode === "deliver"
    ? { outcome: "no-target", reason: "not delivered: no target was asked for" }
    : { outcome: "none" };
}

function retryAfterMsOf(error: unknown): number {
  return error instanceof HostError ? (error.retryAfterMs ?? 0) : 0;
}

function countTry(note: RetryCounter, place: Place): number {
  note[place]++;
  return note[place];
}
