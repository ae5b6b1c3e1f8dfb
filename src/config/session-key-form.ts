const MAX_CHARACTERS = 512;
/**
 * Line breaks, tabs and the like have no business in a key that ends up in logs and file names; half a
 * surrogate pair does not survive a store, which would make two keys one.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const AGENT_PREFIX = /^agent:[^:]*:/i;

/** Why no session can have a key, in words that follow the key's name; `undefined` when one can. */
export function sessionKeyFault(key: string): string | undefined {
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
