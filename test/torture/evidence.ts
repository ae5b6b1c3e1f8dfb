import type { DeliveryDetail } from "../../src/core/delivery.ts";
import { marksIn } from "./call-mark.ts";
import type { Mark } from "./call-mark.ts";
import type { ModelCall } from "./scripted-model.ts";
import type { ReceivedMessage } from "./scripted-receiver.ts";
import type { Acknowledged } from "./torture-clients.ts";

/** Everything that was seen of a torture from outside the gateway. */
export interface Evidence {
  readonly acknowledged: readonly Acknowledged[];
  /** As the API has them at the end, in order of acceptance. */
  readonly deliveries: readonly DeliveryDetail[];
  readonly modelCalls: readonly ModelCall[];
  readonly messages: readonly ReceivedMessage[];
  /** Texts of the events that still wait for a turn of the main session. */
  readonly pendingEvents: readonly string[];
  /** When processes were seen to have died; milliseconds since the epoch, in order. */
  readonly killedAt: readonly number[];
}

/** One of the checks: what it found wrong, a sentence each. */
export type Check = (evidence: Evidence) => readonly string[];

/** The call of which a delivery came. */
export function markOf(delivery: DeliveryDetail): Mark | undefined {
  const [first] = delivery.runs;
  const text = first === undefined ? delivery.name : first.spec.kind === "wake" ? first.spec.text : first.spec.message;
  return marksIn(text)[0];
}

/** True when a process died at that time or in between; both included. */
export function wasKilledBetween({ killedAt }: Evidence, from: number, to: number): boolean {
  return killedAt.some((at) => at >= from && at <= to);
}

/** Items by a key; those without one are left out. */
export function groupBy<Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key | undefined): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
