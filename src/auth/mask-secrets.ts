import type { AuthConfig } from "../config/auth/schema.ts";

/** Takes the secrets out of a body. */
export type MaskSecrets = (body: Uint8Array) => Uint8Array;

/**
 * Compiles the removal of the secrets that a sender writes into its bodies (`body:` sources of the scheme
 * `secret`), in any of the ways in which JSON and forms write characters: each is overwritten with
 * asterisks of the same length, in a copy. What is stored and what templates see then holds no secret;
 * the bodies of other schemes are given back as they are.
 */
export function compileMaskSecrets(auth: AuthConfig): MaskSecrets {
  if (auth.scheme !== "secret" || !auth.from.some((source) => source.startsWith("body:"))) return (body) => body;
  const written = auth.secrets.filter((secret) => secret !== "").map(writtenAs);
  return (body) => {
    // One character of latin1 is one byte.
    let text = Buffer.from(body).toString("latin1");
    for (const secret of written) text = text.replace(secret, (found) => "*".repeat(found.length));
    return new Uint8Array(Buffer.from(text, "latin1"));
  };
}

const SHORT_ESCAPES: ReadonlySet<string> = new Set(['"', "\\", "/"]);

/** Matches a secret in bytes that are read as latin1. */
function writtenAs(secret: string): RegExp {
  return new RegExp(Array.from(secret, waysToWrite).join(""), "g");
}

/** One character: as it is, escaped for JSON, escaped for a form, where each byte of UTF-8 stands by itself. */
function waysToWrite(character: string): string {
  const bytes = [...Buffer.from(character, "utf8")];
  const ways = [bytes.map((byte) => `(?:\\x${hex(byte, 2)}|%${anyCase(hex(byte, 2))})`).join("")];
  const units = Array.from({ length: character.length }, (_, at) => hex(character.charCodeAt(at), 4));
  ways.push(units.map((unit) => `\\\\u${anyCase(unit)}`).join(""));
  if (character === " ") ways.push("\\+");
  if (SHORT_ESCAPES.has(character)) ways.push(`\\\\\\x${hex(character.charCodeAt(0), 2)}`);
  return `(?:${ways.join("|")})`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

function anyCase(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
