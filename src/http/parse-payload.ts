import type { PayloadFormat } from "../core/delivery.ts";
import { exceedsDepth } from "./json-depth.ts";
import { type MediaType, readMediaType, unsupportedTypeMessage } from "./media-type.ts";
import { parseForm } from "./parse-form.ts";
import { parseMultipart } from "./parse-multipart.ts";

/** Any escape of `_` or a lower-case letter: the only other way to write one of the keys. */
const ESCAPED_LETTER = /\\u00[5-7]/;

/**
 * Removes from freshly parsed JSON, in place, the keys with which a careless copy or merge would
 * change the prototype of other objects: every own `__proto__`, and every `constructor` whose value
 * is an object with an own `prototype`.
 *
 * JSON.parse makes them harmless own properties, but a transform that assigns key by key would not.
 * `text` is the JSON the value was parsed from; the value is walked only when it can hold such a key.
 * Returns true when it can.
 */
export function dropPollutingKeys(value: object, text: string): boolean {
  if (!mayPollute(text)) return false;
  const pending: object[] = [value];
  for (let holder = pending.pop(); holder !== undefined; holder = pending.pop()) {
    if (Object.hasOwn(holder, "__proto__")) Reflect.deleteProperty(holder, "__proto__");
    if (Object.hasOwn(holder, "constructor") && hasPrototypeKey(holder.constructor)) {
      Reflect.deleteProperty(holder, "constructor");
    }
    for (const child of Object.values(holder) as unknown[]) {
      if (typeof child === "object" && child !== null) pending.push(child);
    }
  }
  return true;
}

function mayPollute(text: string): boolean {
  if (text.includes("__proto__") || text.includes("constructor")) return true;
  return text.includes("\\u00") && ESCAPED_LETTER.test(text);
}

function hasPrototypeKey(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

/** An object or an array, with own properties only. */
export type Payload = Record<string, unknown> | unknown[];

export interface ParsePayloadOptions {
  /** Formats that the mapping takes besides JSON; JSON is read whether it is listed or not. Default: none. */
  readonly accept?: readonly PayloadFormat[];
  /** Levels of nesting that a JSON body may have; `{}` has one. Default: 64. */
  readonly maxDepth?: number;
}

/** Why a body is no payload: 400, and 415 for the media type. */
export type PayloadRefusalCode =
  | "INVALID_JSON"
  | "INVALID_UTF8"
  | "TOO_DEEP"
  | "INVALID_PAYLOAD"
  | "UNSUPPORTED_MEDIA_TYPE";

export type ParsedPayload =
  | {
      readonly ok: true;
      readonly payload: Payload;
      readonly format: PayloadFormat;
      /** True: `JSON.parse` alone makes the payload of the bytes. */
      readonly isPlain: boolean;
    }
  /** `detail` is a sentence for the caller; it never holds a part of the body. */
  | { readonly ok: false; readonly code: PayloadRefusalCode; readonly detail: string };

const DEFAULT_MAX_DEPTH = 64;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Turns the exact bytes of a verified body into a payload; never throws.
 *
 * JSON is read whatever the content type says, since `curl -d` says it is a form. What is not JSON is
 * INVALID_JSON under a JSON content type or none, and UNSUPPORTED_MEDIA_TYPE, naming the type, under
 * any other, unless the mapping takes it: then a form becomes an object of strings (the last value of
 * a repeated name wins), a form in parts what {@link parseMultipart} makes of it (INVALID_PAYLOAD when it is
 * none), and text becomes `{ text }`.
 *
 * - UTF-8 is strict; one byte order mark is stripped; a charset parameter other than UTF-8 or ASCII is
 *   UNSUPPORTED_MEDIA_TYPE, naming the charset.
 * - An empty or blank body is `{}`. So is a JSON scalar, unless the mapping takes the content type,
 *   in which case `42` is the text or form that was sent.
 * - An integer beyond ±(2^53 - 1) becomes a string of the digits that were sent.
 * - The last of duplicate keys wins. Keys that could pollute a prototype are dropped.
 * - JSON nested deeper than `maxDepth` is TOO_DEEP, and is not built; where text is taken, it is text.
 */
export function parsePayload(
  raw: Uint8Array,
  contentType: string | undefined,
  options: ParsePayloadOptions = {},
): ParsedPayload {
  if (raw.length === 0) return accepted({}, "json");
  const media = readMediaType(contentType);
  if (media.foreignCharset !== undefined) {
    return refused("UNSUPPORTED_MEDIA_TYPE", `The charset "${media.foreignCharset}" is not supported; send UTF-8.`);
  }
  if (media.kind === "multipart" && options.accept?.includes("multipart")) {
    const fields = parseMultipart(raw, contentType!);
    return typeof fields === "string" ? refused("INVALID_PAYLOAD", fields) : accepted(fields, "multipart");
  }
  const text = decode(raw);
  const trimmed = text?.trim();
  if (trimmed === "") return accepted({}, "json");

  const format = acceptedFormat(media.kind, options.accept);
  const maxDepth = options.maxDepth ?? DEFAULT_MAX_DEPTH;
  const json = trimmed === undefined ? "invalid utf-8" : parseJson(trimmed, raw, maxDepth);
  if (typeof json === "object") return json;
  if (json === "too deep" && format !== "text") {
    return refused("TOO_DEEP", `The JSON body is nested deeper than ${maxDepth} levels; send a flatter one.`);
  }
  if (text !== undefined && format === "text") return accepted({ text }, format);
  if (trimmed !== undefined && format === "form") return accepted(parseForm(trimmed), format);
  if (json === "scalar") return accepted({}, "json");
  if (format === undefined && media.kind !== "json" && media.kind !== "none") {
    return refused("UNSUPPORTED_MEDIA_TYPE", unsupportedTypeMessage(media));
  }
  return json === "invalid utf-8"
    ? refused("INVALID_UTF8", "The body is not valid UTF-8; send it encoded in UTF-8.")
    : refused("INVALID_JSON", "The body is not valid JSON; send JSON.");
}

function accepted(payload: Payload, format: PayloadFormat, isPlain = false): ParsedPayload {
  return { ok: true, payload, format, isPlain };
}

function refused(code: PayloadRefusalCode, detail: string): ParsedPayload {
  return { ok: false, code, detail };
}

function decode(raw: Uint8Array): string | undefined {
  try {
    return utf8.decode(raw);
  } catch {
    return undefined;
  }
}

/** The least digits of an integer that a number of JavaScript cannot hold exactly. */
const LONG_NUMBER_DIGITS = 16;
const INTEGER = /^-?\d+$/;

/** Reads every 16th byte, because 16 digits in a row always cover one of these. It takes 0.2 us a KiB, a RegExp 2.4. */
function hasLongNumber(raw: Uint8Array): boolean {
  for (let at = LONG_NUMBER_DIGITS - 1; at < raw.length; at += LONG_NUMBER_DIGITS) {
    if (!isDigit(raw[at])) continue;
    let [start, end] = [at, at + 1];
    while (isDigit(raw[start - 1])) start--;
    while (end - start < LONG_NUMBER_DIGITS && isDigit(raw[end])) end++;
    if (end - start >= LONG_NUMBER_DIGITS) return true;
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/**
 * Keeps an integer that a number cannot hold exactly as the text that was sent: ids of Shopify, Datadog or Discord
 * would otherwise end in other digits.
 */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const { source = "" } = context ?? {};
  return INTEGER.test(source) ? source : value;
}

/** A payload, or the reason why there is none. */
function parseJson(text: string, raw: Uint8Array, maxDepth: number): ParsedPayload | "scalar" | "too deep" | "invalid" {
  const isNested = text.startsWith("{") || text.startsWith("[");
  if (isNested && exceedsDepth(text, raw, maxDepth)) return "too deep";
  const mayRound = hasLongNumber(raw);
  let value: unknown;
  try {
    value = mayRound ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    return "invalid";
  }
  if (!isNested) return "scalar";
  const payload = value as Payload;
  const mayDiffer = dropPollutingKeys(payload, text) || mayRound;
  return accepted(payload, "json", !mayDiffer && isBare(raw));
}

const BRACKETS: ReadonlySet<number | undefined> = new Set(Buffer.from("{}[]"));

/** True when nothing stands before or behind the object or the array, such as a byte order mark. */
function isBare(raw: Uint8Array): boolean {
  return BRACKETS.has(raw[0]) && BRACKETS.has(raw.at(-1));
}

function acceptedFormat(kind: MediaType["kind"], accept: ParsePayloadOptions["accept"]): "form" | "text" | undefined {
  return (kind === "form" || kind === "text") && accept?.includes(kind) ? kind : undefined;
}
