import type { Credential } from "../core/delivery.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import { answerJson } from "../http/answer.ts";
import type { Answer } from "../http/answer.ts";
import type { IngressContext } from "./context.ts";
import { storeRefusal } from "./context.ts";

/**
 * Answers a caller with the state of its own delivery only: 200
 * `{ ok, deliveryId, state, runs: [{ runId, state }] }`. A delivery of another credential is
 * answered like one that does not exist.
 */
export async function status(
  ingress: IngressContext,
  deliveryId: string,
  credential: Credential | undefined,
): Promise<Answer | Refusal> {
  if (!credential) return refuse("UNAUTHORIZED");
  try {
    const delivery = await ingress.store.stateFor(deliveryId, credential.id);
    if (!delivery) return refuse("DELIVERY_NOT_FOUND");
    const runs = delivery.runs.map(({ runId, state }) => ({ runId, state }));
    return answerJson(200, { ok: true, deliveryId: delivery.deliveryId, state: delivery.state, runs });
  } catch (error) {
    return storeRefusal(error, ingress, "the state of a delivery could not be read");
  }
}
