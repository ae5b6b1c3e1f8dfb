import type { IncomingHttpHeaders } from "node:http";
import type { Headers } from "../core/delivery.ts";

/**
 * True for the name of a header or query parameter whose value is a credential.
 *
 * The rule is closed and knows names only: the listed ones, and every name that contains one of the
 * listed words. Signatures (`x-hub-signature-256`, `stripe-signature`) and keys that identify
 * rather than authorize (`x-event-key`, `idempotency-key`, `key`) are none. Case does not matter;
 * `-`, `_` and `.` between words do not either.
 */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name);
}

const NAMES = [
  "cookie2?",
  "set-cookie2?",
  "auth",
  "pass",
  "pwd",
  "php-auth-pw",
  "ocp-apim-subscription-key",
  "authentication",
  "x-auth",
  "x-key",
  "x-user-pass",
  "x-session",
  "x-csrf",
  "x-otp",
];

const WORDS = [
  "token",
  "secret",
  "passw(?:or)?d",
  "passphrase",
  "credential",
  "authorization",
  "jwt",
  "bearer",
  "api-key",
  "access-key",
  "auth-key",
  "private-key",
  "functions-key",
  "master-key",
  "webhook-key",
];

/** `sig` signs the URLs of Azure's services, `code` is the key of an Azure function. */
const QUERY_NAMES: ReadonlySet<string> = new Set(["sig", "code"]);

/** True for a query parameter whose value is a credential: {@link isCredentialName}, `sig` and `code`. */
export function isCredentialParameter(name: string): boolean {
  return QUERY_NAMES.has(name.toLowerCase()) || isCredentialName(name);
}

const CREDENTIAL_NAME = new RegExp(`^(?:${NAMES.join("|")})$|${WORDS.join("|")}`.replaceAll("-", "[-_.]?"), "i");

/** Headers past the 100th, and those that bring names and values over 16 KiB, are left out. */
const MAX_HEADERS = 100;
const MAX_CHARACTERS = 16_384;
const MAX_REMEMBERED_NAMES = 512;

/**
 * Prepares the removal of credentials from a request's headers: authorization, cookies, every
 * header in `names` (lower case: the token header and those of other schemes) and every other one
 * that {@link isCredentialName} knows. What remains may be seen by templates and transforms and be
 * stored; it is a copy without prototype, of at most 100 headers and 16,384 characters. A header
 * that would not fit is left out whole.
 */
export function compileWithoutCredentials(names: readonly string[]): (headers: IncomingHttpHeaders) => Headers {
  const isDropped = rememberNames(names);

  return (headers) => {
    const kept: Record<string, string> = Object.create(null) as Record<string, string>;
    let count = 0;
    let characters = 0;
    for (const name of Object.keys(headers)) {
      const given = headers[name];
      if (given === undefined || isDropped(name)) continue;
      const value = typeof given === "string" ? given : given.join(", ");
      const size = name.length + value.length;
      if (count === MAX_HEADERS || characters + size > MAX_CHARACTERS) continue;
      count++;
      characters += size;
      kept[name] = value;
    }
    return kept;
  };
}

/** Senders use few names: the first 512 are looked up, whatever comes later is judged each time. */
function rememberNames(names: readonly string[]): (name: string) => boolean {
  const remembered = new Map<string, boolean>(names.map((name) => [name, true]));
  const limit = remembered.size + MAX_REMEMBERED_NAMES;
  return (name) => {
    const known = remembered.get(name);
    if (known !== undefined) return known;
    const dropped = isCredentialName(name);
    if (remembered.size < limit) remembered.set(name, dropped);
    return dropped;
  };
}
