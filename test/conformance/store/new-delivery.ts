/** Deliveries for tests: valid ones, of which each test changes what it is about. */
import { randomBytes } from "node:crypto";
import type { AgentSpec, WakeSpec } from "../../../src/core/run.ts";
import type { CoalesceClaim, IdempotencyClaim, NewDelivery } from "../../../src/storage/new-delivery.ts";

export const RECEIVED_AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

export function agentSpec(changes: Partial<AgentSpec> = {}): AgentSpec {
  return {
    kind: "agent",
    message: "Look at this.",
    name: "Hook",
    agentId: "main",
    sessionKey: "agent:main:hook:1",
    wakeMode: "now",
    timeoutMs: 60_000,
    interrupted: "rerun",
    source: "Webhook",
    unsafe: false,
    ...changes,
  };
}

export function wakeSpec(changes: Partial<WakeSpec> = {}): WakeSpec {
  return {
    kind: "wake",
    text: "Wake up.",
    name: "Hook",
    agentId: "main",
    sessionKey: "agent:main:main",
    mode: "now",
    source: "Webhook",
    unsafe: false,
    ...changes,
  };
}

export function newDelivery(changes: Partial<NewDelivery> = {}): NewDelivery {
  return {
    receivedAt: RECEIVED_AT,
    route: "agent",
    mappingId: null,
    name: "Hook",
    headers: dictionary({ "content-type": "application/json" }),
    query: dictionary({}),
    body: Buffer.from('{"message":"Look at this."}'),
    runs: [{ lane: "agent:main:hook:1", spec: agentSpec() }],
    ...changes,
  };
}

/** A delivery that ended at once, without a run. */
export function endedDelivery(
  state: NonNullable<NewDelivery["ended"]>["state"],
  reason = "no mapping matched",
  changes: Partial<NewDelivery> = {},
) {
  return newDelivery({ runs: [], ended: { state, reason }, ...changes });
}

export function newClaim(changes: Partial<IdempotencyClaim> = {}): IdempotencyClaim {
  return { key: randomBytes(32), fingerprint: randomBytes(32), expiresAt: RECEIVED_AT + 86_400_000, ...changes };
}

/** A key of its own; the run is due a minute after the last call, or an hour after the first. */
export function newCoalesce(changes: Partial<CoalesceClaim> = {}): CoalesceClaim {
  return { key: randomBytes(32), windowMs: 60_000, maxWaitMs: 3_600_000, ...changes };
}

/** Headers and queries have no prototype. */
export function dictionary(entries: Record<string, string>): Readonly<Record<string, string>> {
  const bare = Object.create(null) as Record<string, string>;
  return Object.assign(bare, entries);
}
