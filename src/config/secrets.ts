import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Static } from "typebox";
import type { Findings } from "./errors.ts";
import type { secrets } from "./schema-parts.ts";

/** A secret, or a list of secrets, as it may be written. */
export type SecretInput = Static<ReturnType<typeof secrets>>;

/** Secrets of examples and habits, in lower case and without punctuation. */
const OF_EXAMPLES = [
  "admin",
  "changeit",
  "changeme",
  "changemeplease",
  "default",
  "example",
  "exampletoken",
  "hooksecret",
  "hookssecret",
  "hookstoken",
  "hooktoken",
  "letmein",
  "mysecret",
  "mysecrettoken",
  "mytoken",
  "none",
  "null",
  "openclawhookstoken",
  "openclawhooktoken",
  "password",
  "placeholder",
  "replaceme",
  "replacewithyourtoken",
  "secret",
  "secrethere",
  "secrettoken",
  "sharedsecret",
  "test",
  "testtoken",
  "token",
  "tokenhere",
  "undefined",
  "webhooksecret",
  "webhooktoken",
  "yourhooksecret",
  "yourhooktoken",
  "yoursecret",
  "yoursecrethere",
  "yoursecrettoken",
  "yoursecrettokenhere",
  "yourtoken",
  "yourtokenhere",
  "yourwebhooksecret",
];

/** Secrets that senders, standards and their SDKs print in their documentation, as they are written there. */
const OF_DOCUMENTATION = [
  // GitHub and its SDK.
  "It's a Secret to Everybody",
  "mysecret",
  // Slack.
  "8f742231b10e8888abcd99yyyzzz85a5",
  // Standard Webhooks and Svix.
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
  "whsec_plJ3nmyCDGBKInavdOK15jsl",
  // Stripe and its SDK.
  "whsec_test_secret",
  "whsec_test",
  // Zendesk's test requests.
  "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==",
  // Twilio.
  "12345",
  "12345678901234567890123456789012",
  "0123456789abcdef0123456789abcdef",
];

const KNOWN: ReadonlySet<string> = new Set([...OF_EXAMPLES, ...OF_DOCUMENTATION].map(withoutPunctuation));

/**
 * True for a public secret: of an example, of a sender's documentation or one of `further`.
 * Case, punctuation and a prefix such as `whsec_` do not count.
 */
export function isKnownSecret(value: string, further: readonly string[] = []): boolean {
  const written = withoutPunctuation(value);
  return KNOWN.has(written) || further.some((other) => withoutPunctuation(other) === written);
}

function withoutPunctuation(value: string): string {
  const letters = value.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  // A secret of punctuation alone is compared unchanged.
  return letters === "" ? value : letters.replace(/^whsec(?=.)/, "");
}

/** The sources of secrets that are named rather than written. */
export interface SecretSources {
  /** The base of a relative path. */
  readonly configDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const MAX_FILE_BYTES = 65_536;
/** True when others than its owner may use a file of secrets; one of another user, such as root, is read by its group. */
export function othersMayUse({ mode, uid }: { readonly mode: number; readonly uid: number }): boolean {
  const others = uid === process.getuid?.() ? 0o077 : 0o037;
  return process.platform !== "win32" && (mode & others) !== 0;
}

/** A secret and the key that names it. */
export interface NamedSecret {
  readonly path: string;
  readonly value: string;
}

/**
 * Resolves the secrets of a key, trimmed. What is missing, empty or unreadable is refused under its
 * own path, and a variable or a file without content counts as missing; a file that others may use gives
 * a warning. No message holds any part of a secret.
 */
export function readSecrets(
  input: SecretInput,
  path: string,
  sources: SecretSources,
  findings: Findings,
): NamedSecret[] {
  const entries = Array.isArray(input) ? input : [input];
  return entries.flatMap((entry, at) => {
    const where = Array.isArray(input) ? `${path}[${at}]` : path;
    const value = readSecret(entry, where, sources, findings)?.trim();
    if (value === "") findings[typeof entry === "string" ? "refuse" : "refuseReference"](where, "is empty");
    return value ? [{ path: where, value }] : [];
  });
}

type SingleSecret = Exclude<SecretInput, readonly unknown[]>;

function readSecret(
  entry: SingleSecret,
  where: string,
  sources: SecretSources,
  findings: Findings,
): string | undefined {
  if (typeof entry === "string") return entry;
  if (entry.file !== undefined) return readSecretFile(entry.file, where, sources, findings);
  const name = entry.env!;
  const value = Object.hasOwn(sources.env, name) ? sources.env[name] : undefined;
  if (value === undefined) {
    // Anyone who wrote the secret itself instead of the name must not find it in a log.
    const shown = /^[A-Z_][A-Z0-9_]{0,63}$/.test(name) ? `the environment variable ${name}` : "the variable it names";
    findings.refuseReference(where, `${shown} is not set`);
  }
  return value;
}

function readSecretFile(file: string, where: string, sources: SecretSources, findings: Findings): string | undefined {
  let descriptor: number;
  try {
    // Without O_NONBLOCK opening a named pipe would block the whole process until it has a writer.
    descriptor = openSync(resolve(sources.configDir, file), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    findings.refuseReference(
      where,
      `the file cannot be read (${code}); a relative path starts from ${sources.configDir}`,
    );
    return undefined;
  }
  try {
    const stats = fstatSync(descriptor);
    const { mode, size } = stats;
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      findings.refuse(where, `${file} is not a regular file`);
      return undefined;
    }
    if (size > MAX_FILE_BYTES) {
      findings.refuse(where, `the file ${file} is too large for a secret`);
      return undefined;
    }
    if (othersMayUse(stats)) {
      findings.warn(where, `others than its owner may use the file ${file}; chmod it to 600`);
    }
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Secrets that are taken: a sender that knew one of them could do more than call its route. */
export interface ReservedSecrets {
  /** Those of the gateway itself. */
  readonly gateway: { readonly secrets: readonly string[] };
  /** The hook tokens. */
  readonly tokens: readonly string[];
}

/** The reason why a sender's secret cannot be used for anything; `known` are those of the sender's documentation. */
export function secretProblem(
  value: string,
  taken: ReservedSecrets,
  known: readonly string[] = [],
): string | undefined {
  if (taken.gateway.secrets.some((secret) => secret.trim() === value)) {
    return "is also a secret of the gateway itself; give the sender one of its own";
  }
  if (taken.tokens.includes(value)) return "is also the hook token; give the sender a secret of its own";
  if (value.includes("${")) return "holds a ${VARIABLE} that was not replaced";
  if (isKnownSecret(value, known)) return "is the secret of a published example; use another";
  return undefined;
}
