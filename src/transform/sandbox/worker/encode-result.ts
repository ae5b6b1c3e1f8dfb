import { unfinishedName } from "../../call.ts";

export type EncodedResult =
  /** `json` is `undefined` for `undefined`, and for what means the same and has no JSON. */
  | { readonly ok: true; readonly json: string | undefined }
  /** A part of a sentence: `returned 1200000 bytes; ...`. */
  | { readonly ok: false; readonly reason: string };

export interface EncodeResultOptions {
  readonly maxResultBytes: number;
  /** Tells what a getter of the result threw. */
  readonly describe: (error: unknown) => string;
}

// A later replacement by a module does not count.
const stringify = JSON.stringify.bind(JSON);
const byteLength = Buffer.byteLength.bind(Buffer);
const isArray = Array.isArray.bind(Array);
const isNotANumber = Number.isNaN.bind(Number);
const isFiniteNumber = Number.isFinite.bind(Number);

const HAS_TO = "it has to return an object, an array of objects, null or undefined";

/**
 * Writes what a transform returned as JSON. Getters, proxies and `toJSON` of the result run here, and may
 * run for ever; nothing that they do reaches the gateway but the text.
 *
 * A value that JSON would quietly turn into `null`, which means "skip", is refused, and so is what no one awaited.
 */
export function encodeResult(value: unknown, { maxResultBytes, describe }: EncodeResultOptions): EncodedResult {
  // Falsy as `undefined` is: what is left of a condition that does not hold.
  if (value === undefined || value === 0n || (typeof value === "number" && isNotANumber(value))) {
    return { ok: true, json: undefined };
  }
  try {
    const odd = oddity(value);
    if (odd !== undefined) return { ok: false, reason: `returned ${odd}; ${HAS_TO}` };
    const json = stringify(value) as string | undefined;
    if (json === undefined) return { ok: false, reason: `returned what has no JSON; ${HAS_TO}` };
    const bytes = byteLength(json);
    if (bytes <= maxResultBytes) return { ok: true, json };
    return { ok: false, reason: `returned ${bytes} bytes; hooks.transforms.maxResultBytes allows ${maxResultBytes}` };
  } catch (error) {
    return { ok: false, reason: `returned what cannot be written as JSON: ${describe(error)}` };
  }
}

function oddity(value: unknown): string | undefined {
  const odd = nameOf(value);
  if (odd !== undefined || !isArray(value)) return odd;
  const entries = value as readonly unknown[];
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at];
    const name = entry === undefined ? "undefined" : nameOf(entry);
    if (name !== undefined) return `${name} in the place of an action at [${at}]`;
  }
  return undefined;
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  return typeof value === "number" && !isFiniteNumber(value) ? `${value}` : unfinishedName(value);
}
