import { withoutHiddenElements } from "../../core/boundary/hidden-elements.ts";
import { headline, oneLine } from "./headline.ts";

/** Unix times above this are in milliseconds: it is the year 5138 in seconds. */
const MAX_SECONDS = 100_000_000_000;
/** With the zone: without one it would be read as a time of this machine's. */
const DATE_AND_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)$/i;

/**
 * A time as people read it, `2026-11-20 12:00 UTC`: from a Unix time in seconds or milliseconds, or from
 * ISO 8601 with a zone. Another text stays as it is, on one line; empty when there is none.
 */
export function timeText(value: unknown): string {
  if (typeof value === "number")
    return value > 0 ? formatUtc(new Date(value < MAX_SECONDS ? value * 1_000 : value)) : "";
  if (typeof value !== "string") return "";
  return (DATE_AND_TIME.test(value.trim()) && formatUtc(new Date(value))) || oneLine(value);
}

function formatUtc(date: Date): string {
  if (Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().slice(0, -8).replace("T", " ")} UTC`;
}

const BREAK = /<(?:br|\/p|\/div|\/li|\/h[1-6])\b[^<>]*>/gi;
const TAG = /<[^<>]*>/g;
const ENTITY = /&(amp|lt|gt|quot|apos|nbsp|#39);/g;
const CHARACTERS: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  "#39": "'",
};

/**
 * The text of a piece of simple HTML, for reading only: paragraphs and breaks become line ends, other
 * tags go, and elements that no one sees; the common entities become their characters. The result is as untrusted as the HTML.
 */
export function plainText(html: string): string {
  const text = withoutHiddenElements(html, { isBare: true }).replaceAll(BREAK, "\n").replaceAll(TAG, "");
  const lines = decodeEntities(text).split("\n");
  return lines.flatMap((line) => line.trim() || []).join("\n");
}

/** Replaces the common entities by their characters. */
export function decodeEntities(text: string): string {
  return text.replaceAll(ENTITY, (_, name: string) => CHARACTERS[name]!);
}

/**
 * Currencies whose smallest unit is not a hundredth, by ISO 4217. The digits that `Intl.NumberFormat`
 * knows are those of everyday prices (none for HUF or IDR), not those of amounts in smallest units.
 */
const DIGITS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0]),
  ),
  ...Object.fromEntries("BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3])),
  CLF: 4,
  UYW: 4,
};
const USUAL_DIGITS = 2;
const MAX_DIGITS_OF_AMOUNT = 30;

/**
 * An amount in the smallest unit of a currency as people write it: 4900 and `eur` are `49.00 EUR`.
 *
 * Takes a safe integer, or one as text. Empty when either is missing or no such thing. `digits` are a
 * sender's own deviations from ISO 4217, by currency.
 */
export function minorAmount(amount: unknown, currency: unknown, digits: Readonly<Record<string, number>> = {}): string {
  const code = currencyCode(currency);
  const whole = typeof amount === "number" && Number.isSafeInteger(amount) ? String(amount) : amount;
  if (code === "" || typeof whole !== "string") return "";
  const [, sign, figures] = /^(-?)0*(\d+)$/.exec(whole.trim()) ?? [];
  if (sign === undefined || figures === undefined || figures.length > MAX_DIGITS_OF_AMOUNT) return "";
  const places = digits[code] ?? DIGITS[code] ?? USUAL_DIGITS;
  if (places === 0) return `${sign}${figures} ${code}`;
  const padded = figures.padStart(places + 1, "0");
  return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)} ${code}`;
}

/** An amount that is written in whole units already: `49.00` and `EUR`. Empty when there is no amount. */
export function decimalAmount(amount: unknown, currency: unknown): string {
  const text = typeof amount === "number" && Number.isFinite(amount) ? String(amount) : amount;
  if (typeof text !== "string" || text.length > MAX_DIGITS_OF_AMOUNT || !/^-?\d+(?:\.\d+)?$/.test(text.trim()))
    return "";
  return headline(text.trim(), currencyCode(currency));
}

function currencyCode(currency: unknown): string {
  return typeof currency === "string" && /^[A-Za-z]{3}$/.test(currency) ? currency.toUpperCase() : "";
}

/** A person as mail programs write one: `Ada Lovelace <ada@example.com>`, or whichever of the two there is. */
export function personText(name: string, address: string): string {
  if (name === "" || name === address) return address;
  return address === "" ? name : `${name} <${address}>`;
}
