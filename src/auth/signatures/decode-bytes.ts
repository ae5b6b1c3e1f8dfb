export type ByteEncoding = "hex" | "base64" | "base64url";

const ALPHABETS = {
  hex: /^(?:[0-9a-fA-F]{2})+$/,
  base64: /^[A-Za-z0-9+/]+$/,
  base64url: /^[A-Za-z0-9_-]+$/,
} as const;

const PADDING = /={1,2}$/;

/**
 * Decodes bytes that were written as text, or answers `undefined`; the empty text is none.
 *
 * Hex may have any case. The padding of base64 (RFC 4648, 4 and 5) may be left out but not be wrong, and
 * bits that belong to no byte must be zero, so that bytes are written in no more ways than these.
 */
export function decodeBytes(text: string, encoding: ByteEncoding): Buffer | undefined {
  const digits = encoding === "hex" || !text.endsWith("=") ? text : withoutPadding(text);
  if (!ALPHABETS[encoding].test(digits)) return undefined;
  const bytes = Buffer.from(digits, encoding);
  if (encoding === "hex") return bytes;
  return bytes.toString("base64url") === digits.replaceAll("+", "-").replaceAll("/", "_") ? bytes : undefined;
}

/** Padding that does not fill up a group of four stays, and is then no digit. */
function withoutPadding(text: string): string {
  return text.length % 4 === 0 ? text.replace(PADDING, "") : text;
}

/** Decodes base64 of a key as it was pasted: either alphabet, and trailing bits of any value. */
export function decodeKeyBase64(text: string): Buffer | undefined {
  const digits = text.trim().replace(/=+$/, "");
  if (!/^[A-Za-z0-9+/_-]+$/.test(digits) || digits.length % 4 === 1) return undefined;
  return Buffer.from(digits, "base64");
}
