import type { EventWrite, HostSessions } from "../../core/host.ts";
import type { WakeSpec } from "../../core/run.ts";
import type { CarriedOutAtOnce, NewDelivery } from "../../storage/new-delivery.ts";
import type { DispatchContext } from "../context.ts";
import type { RunGate } from "../queue/admission.ts";
import { reportSettled } from "../run-log.ts";
import { wakeText } from "./agent-prompt.ts";
import { reportArrival, turnRequestOf } from "./wake-batch.ts";

export interface WakesAtOnceOptions {
  readonly gate: Pick<RunGate, "isUnlimited">;
  /** True when a wake of the session that comes now has nothing to wait for. */
  readonly isFree: (sessionKey: string) => boolean;
}

/** A wake that the commit of its call carries out. */
export interface WakeAtOnce extends CarriedOutAtOnce {
  /** To be called when it is done. Never rejects. */
  done(runId: string, deliveryId: string): Promise<void>;
}

/**
 * Carries out wakes in the commit that accepts them, where the host has its sessions in the database of the store: one
 * commit in the place of three. A wake that has anything to wait for waits in the queue, and so does one whose session
 * does not take it.
 */
export class WakesAtOnce {
  readonly #context: DispatchContext;
  readonly #options: WakesAtOnceOptions;

  constructor(context: DispatchContext, options: WakesAtOnceOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** `undefined` for a delivery that is no such wake. */
  of(delivery: NewDelivery): WakeAtOnce | undefined {
    const { mappingId, runs } = delivery;
    const spec = runs.length === 1 ? runs[0]!.spec : undefined;
    const { sessions } = this.#context.host;
    if (spec?.kind !== "wake" || spec.owner !== undefined || sessions.eventWrite === undefined) return undefined;
    if (isParticular(delivery) || !this.#options.isFree(spec.sessionKey)) return undefined;
    return this.#options.gate.isUnlimited(mappingId) ? this.#wake(spec, mappingId, sessions) : undefined;
  }

  #wake(spec: WakeSpec, mappingId: string | null, sessions: HostSessions): WakeAtOnce {
    const { events, clock } = this.#context;
    const at = clock.now();
    let written: EventWrite | undefined;
    return {
      at,
      write(runId) {
        const { sessionKey, rights } = spec;
        const event = { sessionKey, text: wakeText(spec), idempotencyKey: runId, rights };
        written = sessions.eventWrite!(event, spec.mode === "now" ? turnRequestOf(spec) : undefined);
        return written;
      },
      done: async (runId, deliveryId) => {
        reportArrival(this.#context, [spec], { isTurnStored: written?.storesTurn ?? false });
        await events.dispatched({ runId, kind: "wake", attempt: 1 });
        const facts = { mappingId, deliveryId, attempt: { number: 1, startedAt: at } };
        await reportSettled(this.#context, { runId, kind: "wake", state: "done", reason: null }, facts);
      },
    };
  }
}

/** True for a delivery that has to do with others, waits for a time or a person, or changes more than its session. */
function isParticular({ runs, held, coalesce, overlap, waits, replayOf }: NewDelivery): boolean {
  const isBound = (held ?? coalesce ?? overlap ?? waits ?? replayOf) !== undefined;
  return isBound || (runs[0]!.expiresAt ?? null) !== null;
}
