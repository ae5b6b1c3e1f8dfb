import type { Findings } from "./errors.ts";
import type { MappingConfig } from "./mapping/schema.ts";

const MAX_CHARACTERS = 512;
/**
 * Keys appear in logs and file names, so they must not hold line breaks, tabs and the like. Half a
 * surrogate pair does not survive a store, which would make two keys equal.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const AGENT_PREFIX = /^agent:[^:]*:/i;

/** The reason why a session cannot have a key, as the predicate of a sentence; `undefined` when it can. */
export function sessionKeyProblem(key: string): string | undefined {
  if (key.length > MAX_CHARACTERS) return `has more than ${MAX_CHARACTERS} characters`;
  if (UNPRINTABLE.test(key)) return "must not hold control characters";
  if (withoutAgent(key).trim() === "") return "must name a session, and not an agent alone";
  return undefined;
}

/** True for a key that names its agent: `agent:<id>:<rest>`. */
export function namesAgent(key: string): boolean {
  return AGENT_PREFIX.test(key);
}

/** The rest of a key behind its agent, or the whole key when it names none. */
export function withoutAgent(key: string): string {
  return key.replace(AGENT_PREFIX, "");
}

/** Prefix of generated keys. */
const GENERATED_PREFIX = "hook:";

/** The prefixes as keys are compared with them: trimmed, in lower case, none blank, none twice. */
export function readPrefixes(written: readonly string[] | undefined): string[] {
  const prefixes = (written ?? []).map((prefix) => prefix.trim().toLowerCase());
  return [...new Set(prefixes)].filter((prefix) => prefix !== "");
}

/** True when a key begins with one of the prefixes, or there are none. */
export function hasPrefix(key: string, prefixes: readonly string[]): boolean {
  const folded = key.toLowerCase();
  return prefixes.length === 0 || prefixes.some((prefix) => folded.startsWith(prefix));
}

/** Refuses a fixed key that no session can have. */
export function checkSessionKeyForm(key: string, path: string, findings: Findings): void {
  const fault = sessionKeyProblem(key);
  if (fault !== undefined) findings.refuse(path, fault);
}

/** Refuses a default key, or the lack of one, that the prefixes do not allow. */
export function checkDefaultSessionKey(key: string | undefined, prefixes: readonly string[], findings: Findings): void {
  if (key === undefined) {
    if (!hasPrefix(GENERATED_PREFIX, prefixes)) {
      findings.refuse(
        "hooks.allowedSessionKeyPrefixes",
        'must include "hook:" when hooks.defaultSessionKey is not set, since generated keys begin with it',
      );
    }
    return;
  }
  checkSessionKeyForm(key, "hooks.defaultSessionKey", findings);
  if (!hasPrefix(key, prefixes)) {
    findings.refuse("hooks.defaultSessionKey", "must begin with one of hooks.allowedSessionKeyPrefixes");
  }
}

/** True for a template; without one every rendering is the same. */
export function isTemplated(text: string): boolean {
  return text.includes("{{");
}

/** Refuses templated keys while no prefix bounds them. `effective` is without shadowed mappings. */
export function checkTemplatedKeys(
  effective: readonly MappingConfig[],
  prefixes: readonly string[],
  findings: Findings,
): void {
  if (prefixes.length > 0) return;
  const templated = effective.find(
    ({ sessionKey, ownSessionPrefix }) =>
      ownSessionPrefix === undefined && sessionKey !== undefined && isTemplated(sessionKey),
  );
  if (!templated) return;
  findings.refuse(
    "hooks.allowedSessionKeyPrefixes",
    `is required since the sessionKey of ${templated.where} is a template; set it, for example to ["hook:"]`,
  );
}
