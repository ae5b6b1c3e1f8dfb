import { headline } from "./headline.ts";

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
