import type { DeliveryDetail } from "../../src/core/delivery.ts";
import type { GatewayProcess } from "../integration/gateway-process.ts";
import type { Evidence } from "./evidence.ts";

/** Requests to the API at once. */
const AT_ONCE = 8;

/** Adds what the API of the gateway says to what was seen around it. */
export async function collectEvidence(
  gateway: GatewayProcess,
  seen: Omit<Evidence, "deliveries" | "pendingEvents">,
): Promise<Evidence> {
  const listed = (await gateway.deliveries()).toReversed();
  const deliveries: DeliveryDetail[] = [];
  let next = 0;
  const read = async (): Promise<void> => {
    while (next < listed.length) {
      const at = next++;
      deliveries[at] = await gateway.delivery(listed[at]!.id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
  return { ...seen, deliveries, pendingEvents: await pendingEvents(gateway) };
}

async function pendingEvents(gateway: GatewayProcess): Promise<string[]> {
  const texts: string[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { events: { text: string }[]; nextCursor: string | null } = await gateway.api(
      `/sessions/agent%3Amain%3Amain/events?limit=200${from}`,
    );
    texts.push(...page.events.map(({ text }) => text));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return texts;
}
