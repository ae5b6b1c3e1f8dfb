import type { SignatureAuth } from "../../config/auth/schema.ts";
import type { IncomingRequest, RequestView } from "../verifier.ts";
import { compileRequestSource, nameSource, NO_PAIRS } from "./request-source.ts";
import type { SignedInput } from "./request-source.ts";

/** The signatures that a request carries, as they are written, with the values beside them. */
export interface SignatureCandidates {
  readonly texts: readonly string[];
  readonly pairs: SignedInput["pairs"];
}

const MAX_CHARS = 8_192;
const MAX_ENTRIES = 64;
const MAX_SIGNATURES = 16;

type Split = (value: string, found: { texts: string[]; pairs: Map<string, string | undefined> }) => boolean;

/**
 * Compiles how a scheme finds the signatures of a request; a text instead of them is the reason why
 * there are none. At most 8,192 characters, 64 entries and 16 signatures are taken.
 */
export function compileCandidates(
  auth: Pick<SignatureAuth, "from" | "prefix" | "separator" | "pair">,
): (call: IncomingRequest, view: RequestView) => SignatureCandidates | string {
  const readers = auth.from.map(compileRequestSource);
  const names = auth.from.map(nameSource).join(", ");
  const missing = auth.from.length === 1 ? `${names} is missing` : `all of ${names} are missing`;
  const older = auth.from.flatMap((source) => /^header:(?<name>.+)-v\d+$/u.exec(source)?.groups?.["name"] ?? []);
  const split = compileSplit(auth);
  return (call, view) => {
    const found = { texts: [], pairs: new Map<string, string | undefined>() };
    const input = { call, view, pairs: NO_PAIRS };
    let isThere = false;
    for (const read of readers) {
      const value = read(input);
      if (value === undefined) continue;
      isThere = true;
      if (value.length > MAX_CHARS) return "the signature is too long";
      if (!split(value, found)) return "too many signatures";
    }
    if (!isThere) return missing + olderSignature(older, call);
    if (found.texts.length > MAX_SIGNATURES) return "too many signatures";
    return found;
  };
}

/** Names the header of an older version that a call carries instead: `x-signature` for `x-signature-v3`. */
function olderSignature(names: readonly string[], { headers }: IncomingRequest): string {
  const name = names.find((each) => headers[each.toLowerCase()] !== undefined);
  if (name === undefined) return "";
  const version = headers[`${name.toLowerCase()}-version`];
  const shown = typeof version === "string" && /^v\d{1,3}$/u.test(version) ? ` (${version})` : "";
  return `; the call carries ${name}${shown}, an older signature`;
}

function compileSplit({ prefix, separator, pair }: Pick<SignatureAuth, "prefix" | "separator" | "pair">): Split {
  if (pair !== undefined) return splitPairs(prefix, separator ?? ",", pair);
  if (separator === undefined) {
    return (value, { texts }) => {
      if (value.startsWith(prefix)) texts.push(value.slice(prefix.length));
      return true;
    };
  }
  return (value, { texts }) => {
    const entries = value.split(separator, MAX_ENTRIES + 1);
    if (entries.length > MAX_ENTRIES) return false;
    for (const entry of entries) {
      const text = entry.trim();
      // Other versions of the signature have entries of their own: `v1a,...`.
      if (text.startsWith(prefix) && text.length > prefix.length) texts.push(text.slice(prefix.length));
    }
    return true;
  };
}

/**
 * `t=1,v1=aa,v1=bb`. Some write a second list behind a blank while a secret is rotated, which must then
 * agree with the first; within a list only the signature may be repeated.
 */
function splitPairs(prefix: string, separator: string, pair: string): Split {
  return (value, { texts, pairs }) => {
    if (!value.startsWith(prefix)) return true;
    const entries = value.slice(prefix.length).split(separator, MAX_ENTRIES + 1);
    if (entries.length > MAX_ENTRIES) return false;
    let inList = new Set<string>();
    for (const entry of entries) {
      const fields = entry.trim().split(BLANKS);
      for (const [at, field] of fields.entries()) {
        if (at > 0) inList = new Set();
        const equals = field.indexOf("=");
        if (equals === -1) continue;
        const key = field.slice(0, equals);
        const text = field.slice(equals + 1);
        if (key === pair) {
          texts.push(text);
          continue;
        }
        const isAmbiguous = inList.has(key) || (pairs.has(key) && pairs.get(key) !== text);
        pairs.set(key, isAmbiguous ? undefined : text);
        inList.add(key);
      }
    }
    return true;
  };
}

const BLANKS = /[ \t]+/;
