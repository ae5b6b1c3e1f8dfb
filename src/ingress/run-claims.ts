import { createHash } from "node:crypto";
import type { CoalesceConfig } from "../config/hooks-config.ts";
import type { RunSpec } from "../core/delivery.ts";
import type { CoalesceClaim, OverlapClaim } from "../storage/new-delivery.ts";

/** What calls of one mapping have in common when they belong together. */
export interface CallIdentity {
  readonly mappingId: string;
  readonly spec: RunSpec;
  /** False when the session key was made up for this run alone, or is the same for all. */
  readonly namesSession: boolean;
}

/** The claim of a call that may be one of many; `key` is the mapping's own, rendered. */
export function coalesceClaim(
  { windowMs, maxWaitMs }: CoalesceConfig,
  { mappingId, spec, namesSession }: CallIdentity,
  key: string,
): CoalesceClaim {
  const session = namesSession ? spec.sessionKey : "";
  return { key: digest(["coalesce", mappingId, spec.agentId, session, key]), windowMs, maxWaitMs };
}

/** The claim of a call that gives way to open runs of its mapping and session, or takes their place. */
export function overlapClaim(
  mode: OverlapClaim["mode"],
  { mappingId, spec, namesSession }: CallIdentity,
): OverlapClaim {
  return { key: digest(["overlap", mappingId, namesSession ? spec.sessionKey : ""]), mode };
}

function digest(parts: readonly string[]): Uint8Array {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}
