/** Finds the secrets of a gateway in a text, however they are written there. */

/** Shorter ones are part of ordinary words: they are not looked for. */
const MIN_CHARS = 8;
/** Characters that the search looks up at once. */
const WINDOW = 8;
const TABLE_BITS = 16;

/** Tells whether a text has one of the secrets. */
export type HasSecret = (text: string) => boolean;

/**
 * Compiles the search for secrets: as they are, backwards, in base64 and base64url at any offset, in hexadecimal,
 * decimal and octal codes, in URL encoding and HTML references; each also in any case, and with white space, punctuation or
 * characters that no one sees in between.
 *
 * A text is read once for all secrets: case and everything that is neither letter nor digit is dropped from both, and
 * a table of hashes of eight characters says where to compare.
 */
export function compileSecretIndex(secrets: readonly string[]): HasSecret {
  const patterns = new Set<string>();
  const exact = new Set<string>();
  for (const secret of secrets) {
    const bare = secret.trim();
    if (bare.length < MIN_CHARS) continue;
    for (const written of waysToWrite(bare)) {
      const squeezed = squeeze(written);
      if (squeezed.length >= MIN_CHARS) patterns.add(squeezed);
    }
    // One of punctuation: what is left of it would be too short.
    if (squeeze(bare).length < MIN_CHARS) exact.add(bare.replaceAll(/\s/gu, ""));
  }
  if (patterns.size === 0 && exact.size === 0) return () => false;
  const find = compileSearch([...patterns]);
  return (text) => {
    const readings = new Set([text, decodeReferences(text), decodeReferences(decodePercent(text))]);
    for (const reading of readings) {
      if (find(squeeze(reading))) return true;
      if (exact.size === 0) continue;
      const packed = reading.replaceAll(/[\s\p{Default_Ignorable_Code_Point}]/gu, "");
      for (const secret of exact) if (packed.includes(secret)) return true;
    }
    return false;
  };
}

function waysToWrite(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const hex = bytes.toString("hex");
  return [
    secret,
    Array.from(secret).toReversed().join(""),
    hex,
    // `\x41\x42` and `\u0041\u0042`, without what does not count.
    hex.replaceAll(/../gu, "x$&"),
    // `0x41, 0x42`, `\u{41}\u{42}`, and octal with and without leading zeros.
    hex.replaceAll(/../gu, "0x$&"),
    Array.from(secret, (char) => `u${char.codePointAt(0)!.toString(16)}`).join(""),
    Array.from(bytes, (byte) => byte.toString(8)).join(""),
    Array.from(bytes, (byte) => byte.toString(8).padStart(3, "0")).join(""),
    Array.from({ length: secret.length }, (_, at) => `u${secret.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
      "",
    ),
    Array.from(bytes, String).join(" "),
    ...[0, 1, 2].map((offset) => base64At(bytes, offset)),
  ];
}

/** The characters that stand for the bytes alone when so many other bytes come before them. */
function base64At(bytes: Uint8Array, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString("base64")
    .replace(/=+$/u, "");
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return text.slice(first, last);
}

const DROPPED = /[^\p{L}\p{N}]+/gu;

/** Base64url differs from base64 only in characters that are dropped. */
function squeeze(text: string): string {
  return text.normalize("NFKC").replace(DROPPED, "").toLowerCase();
}

function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  return text.replaceAll(/(?:%[0-9a-f]{2})+/giu, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  colon: ":",
  commat: "@",
  equals: "=",
  lowbar: "_",
  num: "#",
  percnt: "%",
  period: ".",
  plus: "+",
  quest: "?",
  sol: "/",
};
const REFERENCE = /&(?:#0*(\d{1,7});?|#x0*([0-9a-f]{1,6});?|([a-z]{2,8});)/giu;
const LAST_CODE_POINT = 0x10_ff_ff;

/** A text with its HTML references to characters replaced, as far as an address or a secret may have them. */
export function decodeReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(REFERENCE, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
    return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : whole;
  });
}

/** A text is searched for a few patterns one by one: a table costs 64 KB and each text a look at every character. */
const FEW = 16;

function compileSearch(patterns: readonly string[]): (squeezed: string) => boolean {
  if (patterns.length > FEW) return compileTable(patterns);
  return (squeezed) => patterns.some((pattern) => squeezed.includes(pattern));
}

/** Compares at the places whose hash of {@link WINDOW} characters is that of a pattern. */
function compileTable(patterns: readonly string[]): (squeezed: string) => boolean {
  const table = new Uint8Array(1 << TABLE_BITS);
  const byStart = new Map<string, string[]>();
  for (const pattern of patterns) {
    const start = pattern.slice(0, WINDOW);
    byStart.set(start, [...(byStart.get(start) ?? []), pattern]);
    table[slotOf(hashOf(start))] = 1;
  }
  return (squeezed) => {
    if (squeezed.length < WINDOW) return false;
    let hash = hashOf(squeezed.slice(0, WINDOW));
    for (let at = 0; ; at++) {
      if (table[slotOf(hash)] === 1) {
        const starting = byStart.get(squeezed.slice(at, at + WINDOW));
        if (starting?.some((pattern) => squeezed.startsWith(pattern, at))) return true;
      }
      if (at + WINDOW >= squeezed.length) return false;
      hash = Math.imul(hash - Math.imul(squeezed.charCodeAt(at), LEAVING), FACTOR) + squeezed.charCodeAt(at + WINDOW);
    }
  };
}

const FACTOR = 0x01_00_01_93;
/** The factor of the first character of a window. */
const LEAVING = Array.from({ length: WINDOW - 1 }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

function hashOf(window: string): number {
  let hash = 0;
  for (let at = 0; at < WINDOW; at++) hash = Math.imul(hash, FACTOR) + window.charCodeAt(at);
  return hash;
}

function slotOf(hash: number): number {
  return ((hash ^ (hash >>> 16)) >>> 0) & ((1 << TABLE_BITS) - 1);
}
