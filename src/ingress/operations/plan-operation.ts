import type { DeliverySummary, State } from "../../core/delivery.ts";
import type { Operation } from "./operation-outcome.ts";

export interface ReplayOptions {
  /** Runs the stored actions again as they were, and not the stored bytes through today's configuration. */
  readonly asAccepted: boolean;
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running", "held"]);

/** Why a delivery in that state is left alone by an operation; `undefined` when it can be carried out. */
export function planOperation(
  operation: Operation,
  delivery: DeliverySummary,
  options: ReplayOptions,
): string | undefined {
  switch (operation) {
    case "replay":
      return whyNotReplay(delivery, options);
    case "cancel":
      return OPEN.has(delivery.state) ? undefined : `it is ${delivery.state}; nothing of it is left to cancel`;
    case "purge":
      return OPEN.has(delivery.state)
        ? `it is ${delivery.state}; cancel it first, or wait until it has ended`
        : undefined;
  }
}

/** A held delivery can be replayed: nothing goes on with it by itself, and it stays held. */
function whyNotReplay(
  { state, relatedTo, runIds }: DeliverySummary,
  { asAccepted }: ReplayOptions,
): string | undefined {
  if (state === "queued" || state === "running") {
    return `it is ${state} and would run twice; cancel it first, or wait until it has ended`;
  }
  if (state === "duplicate") {
    return `it repeats ${relatedTo?.deliveryId ?? "another delivery"}, which has the request; replay that one`;
  }
  if (asAccepted && state !== "coalesced" && runIds.length === 0) {
    return `it is ${state} and was accepted without a run; replay it without "as accepted"`;
  }
  return undefined;
}
