import { createHash } from "node:crypto";
import type { Headers } from "../core/delivery.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { IdempotencyClaim } from "../storage/new-delivery.ts";

const HEADERS = ["idempotency-key", "x-service-idempotency-key", "x-openclaw-idempotency-key"] as const;
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** What a claim is made of. */
export interface ClaimedRequest {
  readonly headers: Headers;
  /** `idempotencyKey` of the payload of `/agent`; `undefined` on every other route. */
  readonly payloadKey: unknown;
  /** The path below the prefix. */
  readonly route: string;
  readonly credentialId: string;
  readonly body: Uint8Array;
  readonly receivedAt: number;
}

/**
 * The caller's claim that this request is made once, or `undefined` when it makes none.
 *
 * The key is the header `Idempotency-Key`, else `x-service-idempotency-key`, else the one of OpenClaw's
 * callers, else the payload's; an empty one counts as absent. It is scoped to route and credential, so neither two hooks nor two
 * senders can collide (specification of the Idempotency-Key header: IETF httpapi draft).
 */
export function readClaim(request: ClaimedRequest, ttlMs: number): IdempotencyClaim | undefined | Refusal {
  const key = callersKey(request);
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !KEY.test(key)) return refuse("INVALID_IDEMPOTENCY_KEY");
  return {
    key: digest([request.route, request.credentialId, key]),
    fingerprint: createHash("sha256").update(request.body).digest(),
    expiresAt: request.receivedAt + ttlMs,
  };
}

function callersKey({ headers, payloadKey }: ClaimedRequest): unknown {
  for (const name of HEADERS) {
    const key = unquoted(headers[name]?.trim() ?? "");
    if (key !== "") return key;
  }
  if (payloadKey === undefined || payloadKey === null) return undefined;
  return typeof payloadKey === "string" ? payloadKey.trim() || undefined : payloadKey;
}

/** The draft writes the key as a structured-field string, in quotes; most callers leave them out. */
function unquoted(key: string): string {
  return key.length >= 2 && key.startsWith('"') && key.endsWith('"') ? key.slice(1, -1).trim() : key;
}

function digest(parts: readonly string[]): Buffer {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}
