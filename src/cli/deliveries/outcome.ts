/** What became of a delivery that was to be changed: as the API answers it, and in words. */
import type { State } from "../../core/delivery.ts";

export type DeliveryChange = "replay" | "cancel" | "purge";

/** See `src/api/outcome-json.ts`. */
export type ChangedDelivery = {
  readonly id: string;
  /** Of one that is there: as it was before. */
  readonly state?: State;
  readonly route?: string;
  readonly receivedAt?: string;
} & (
  | { readonly outcome: "replayed"; readonly replay: Replay }
  | { readonly outcome: "canceled"; readonly runs: number }
  | { readonly outcome: "planned"; readonly replay?: ReplayFacts }
  | { readonly outcome: "removed" | "emptied" | "unknown" }
  | { readonly outcome: "left"; readonly reason: string }
  | { readonly outcome: "refused"; readonly error: string }
);

interface Replay {
  readonly deliveryId: string;
  readonly state: State;
  /** The calls that its run had gathered, where there were any. */
  readonly gathered?: readonly CoalescedCall[];
  /** Ids of those that were not reached. */
  readonly left?: readonly string[];
}

export type CoalescedCall = { readonly id: string } & (
  | { readonly outcome: "replayed"; readonly replay: Pick<Replay, "deliveryId" | "state"> }
  | { readonly outcome: "refused"; readonly error: string }
);

/** What a replay would run; see `src/ingress/operations/operation-outcome.ts`. */
interface ReplayFacts {
  readonly runs: number;
  readonly repeated: number;
  readonly done: number;
  readonly calls: number;
}

/** What would happen, in a dry run. */
export const PLANNED = { replay: "would be replayed", cancel: "would be canceled", purge: "would be removed" } as const;

/** What became of one, in words that are not yet made printable. */
export function outcomeText(change: DeliveryChange, delivery: ChangedDelivery | CoalescedCall): string {
  switch (delivery.outcome) {
    case "replayed":
      return `replayed as ${delivery.replay.deliveryId} (${delivery.replay.state})`;
    case "canceled":
      return `canceled (${delivery.runs} ${delivery.runs === 1 ? "run" : "runs"})`;
    case "removed":
      return "removed";
    case "emptied":
      return "its request is removed; it stays listed for now, since copies of it could arrive";
    case "planned":
      return `${PLANNED[change]}${delivery.replay === undefined ? "" : factsText(delivery.replay)}`;
    case "left":
      return `left alone: ${delivery.reason}`;
    case "refused":
      return `refused: ${delivery.error}`;
    case "unknown":
      return "there is no such delivery";
  }
}

function factsText({ runs, repeated, done, calls }: ReplayFacts): string {
  if (calls > 1) return `, with the ${calls} calls that its run stands for`;
  if (repeated < runs) return `: ${repeated} of ${runs} items, the others are done`;
  if (runs > 1 && done > 0) return `: ${done} of ${runs} items were done and would run again`;
  return runs > 1 ? `: ${runs} items` : "";
}

/** The calls that were replayed together with it. */
export function coalescedOf({ gathered = [] }: Replay): readonly CoalescedCall[] {
  return gathered;
}
