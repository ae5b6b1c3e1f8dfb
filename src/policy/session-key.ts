import { randomUUID } from "node:crypto";
import { namesAgent, sessionKeyProblem, withoutAgent } from "../config/session.ts";
import { hasPrefix } from "../config/session.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";

/** The configuration of session keys (specification 4.2). */
export interface SessionKeyRules {
  readonly defaultSessionKey: string | undefined;
  readonly allowRequestSessionKey: boolean;
  /** Lower case; empty: no restriction. */
  readonly allowedSessionKeyPrefixes: readonly string[];
}

/** A requested key. */
export interface RequestedKey {
  readonly key: string | undefined;
  /** `request` when any part of it came from the caller or the payload. */
  readonly source: "request" | "static";
  /** A name space that a built-in preset's derived keys cannot leave; such keys need no permission. */
  readonly ownPrefix?: string | undefined;
}

const OUTSIDE_DERIVED = /[^A-Za-z0-9._-]/g;
const MAX_DERIVED_LENGTH = 128;

/**
 * Decides which session a run speaks in, as `agent:<agentId>:<rest>`.
 *
 * An explicit key wins, then `defaultSessionKey`, then a new `hook:<uuid>`. Keys that came from a
 * caller need `allowRequestSessionKey`. A key written for another agent is put under the agent that
 * runs, and the prefixes are asked before and after that.
 */
export function resolveSessionKey(rules: SessionKeyRules, requested: RequestedKey, agentId: string): string | Refusal {
  const { key, ownPrefix } = requested;
  if (ownPrefix !== undefined) return scope(derivedKey(ownPrefix, key), agentId);
  if (key === undefined) return scope(rules.defaultSessionKey ?? `hook:${randomUUID()}`, agentId);
  if (requested.source === "request" && !rules.allowRequestSessionKey) {
    return refuse("SESSION_KEY_DISABLED");
  }
  const fault = sessionKeyProblem(key);
  if (fault !== undefined) return refuse("INVALID_PAYLOAD", `sessionKey ${fault}.`);
  const scoped = scope(key, agentId);
  const prefixes = rules.allowedSessionKeyPrefixes;
  if (!hasPrefix(key, prefixes) || (namesAgent(key) && !hasPrefix(scoped, prefixes))) {
    return refuse("SESSION_KEY_PREFIX", `sessionKey must start with one of: ${prefixes.join(", ")}`);
  }
  return scoped;
}

function scope(key: string, agentId: string): string {
  return `agent:${agentId}:${withoutAgent(key)}`;
}

/** A preset's key: whatever the payload held, it stays one plain word under the preset's prefix. */
function derivedKey(ownPrefix: string, key: string | undefined): string {
  const rest = key?.startsWith(ownPrefix) ? key.slice(ownPrefix.length) : "";
  const word = rest.slice(0, MAX_DERIVED_LENGTH).replace(OUTSIDE_DERIVED, "_");
  return ownPrefix + (word || randomUUID());
}
