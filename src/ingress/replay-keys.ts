import { createHash } from "node:crypto";
import type { VerifiedRequest } from "../core/delivery.ts";
import type { ReplayKeyClaim } from "../storage/new-delivery.ts";

/**
 * What a copy of a sender's request is recognized by: the digest of what was signed, and the sender's
 * id for the delivery. The id alone would not do: many senders do not sign it.
 *
 * `ttlMs` is how long an id is remembered. Ids are scoped to the route.
 */
export function senderReplayKeys(
  { path, replay, receivedAt }: Pick<VerifiedRequest, "path" | "replay" | "receivedAt">,
  deliveryId: string | undefined,
  ttlMs: number,
): readonly ReplayKeyClaim[] {
  const marks: ReplayKeyClaim[] = [];
  if (replay) marks.push({ key: replay.digest, expiresAt: replay.expiresAt });
  if (deliveryId !== undefined) marks.push({ key: idKey(path, deliveryId), expiresAt: receivedAt + ttlMs });
  return marks;
}

function idKey(path: string, deliveryId: string): Uint8Array {
  return createHash("sha256")
    .update(JSON.stringify(["delivery id", path, deliveryId]))
    .digest();
}
