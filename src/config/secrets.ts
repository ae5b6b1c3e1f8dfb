import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Findings } from "./findings.ts";
import type { SecretInput } from "./schema.ts";

/** Where secrets that are named rather than written are looked up. */
export interface SecretSources {
  /** What a relative path of a file starts from. */
  readonly configDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const MAX_FILE_BYTES = 65_536;
/** Read, write or search for anyone but the owner. */
const OTHERS = 0o077;

/** A secret and the key that names it. */
export interface NamedSecret {
  readonly path: string;
  readonly value: string;
}

/**
 * Resolves the secrets of a key, trimmed. What is missing, empty or unreadable is refused under its
 * own path; a file that others may use gives a warning. No message holds any part of a secret.
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
    if (value === "") findings.refuse(where, "is empty");
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
    // Whoever wrote the secret itself in the place of the name must not find it in a log.
    const shown = /^[A-Z_][A-Z0-9_]{0,63}$/.test(name) ? `the environment variable ${name}` : "the variable it names";
    findings.refuse(where, `${shown} is not set`);
  }
  return value;
}

function readSecretFile(file: string, where: string, sources: SecretSources, findings: Findings): string | undefined {
  let descriptor: number;
  try {
    // Without O_NONBLOCK a named pipe would hold up the whole process until somebody writes to it.
    descriptor = openSync(resolve(sources.configDir, file), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    findings.refuse(where, `the file cannot be read (${code}); a relative path starts from ${sources.configDir}`);
    return undefined;
  }
  try {
    const { mode, size } = fstatSync(descriptor);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      findings.refuse(where, `${file} is not a regular file`);
      return undefined;
    }
    if (size > MAX_FILE_BYTES) {
      findings.refuse(where, `the file ${file} is too large for a secret`);
      return undefined;
    }
    if ((mode & OTHERS) !== 0 && process.platform !== "win32") {
      findings.warn(where, `others than its owner may use the file ${file}; chmod it to 600`);
    }
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}
