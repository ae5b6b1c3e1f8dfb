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

const NAMES = ["cookie2?", "set-cookie2?", "auth", "pass", "pwd", "php-auth-pw", "ocp-apim-subscription-key"];

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

const CREDENTIAL_NAME = new RegExp(`^(?:${NAMES.join("|")})$|${WORDS.join("|")}`.replaceAll("-", "[-_.]?"), "i");
