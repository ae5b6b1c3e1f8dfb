import { exceedsDepth } from "../../http/json-depth.ts";
import type { SandboxLoadFailure, SandboxReply } from "./messages.ts";

const MAX_DEPTH = 64;
/** The keys of objects count as well. */
const MAX_VALUES = 20_000;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Tells by which bound a result in JSON would cost the gateway too much to build: `more than 64 levels of
 * nesting`, `more than 20,000 values`; `undefined`: by none. Costs time in proportion to the text.
 */
function exceededBound(json: string): string | undefined {
  // A reply this short has room for neither.
  if (json.length <= MAX_DEPTH) return undefined;
  const utf8 = Buffer.from(json);
  if (exceedsDepth(json, utf8, MAX_DEPTH)) return `more than ${MAX_DEPTH} levels of nesting`;
  if (json.length > MAX_VALUES && separatesMoreThan(utf8, MAX_VALUES))
    return `more than ${MAX_VALUES.toLocaleString("en-US")} values`;
  return undefined;
}

/** Counts what stands between values, and between keys and values; inside strings nothing counts. */
function separatesMoreThan(utf8: Uint8Array, most: number): boolean {
  let count = 0;
  let isInString = false;
  // Byte by byte, since a search for the ends of strings costs much more where one holds nothing but quotes.
  for (let at = 0; at < utf8.length; at++) {
    const byte = utf8[at];
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === COLON) count++;
    if (count > most) return true;
  }
  return false;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;
const MAX_LOG_CHARACTERS = 1_000;
const MAX_REASON_CHARACTERS = 2_000;
/** The beginning of a worker's reply that holds a result. */
const RETURNED = /^\{"is":"returned","id":(\d{1,15}),"value":/;
/** Those that end a line or steer a terminal. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/**
 * Reads what a sandbox process says, which may be anything; `undefined`: it is no reply.
 *
 * Texts are cut and made one line; a returned value is data that no one has looked at. One that is nested too
 * deep or has too many values is not built: the call has failed then.
 */
export function readReply(json: string): SandboxReply | undefined {
  const [head = "", id] = RETURNED.exec(json) ?? [];
  const exceeded = exceededBound(json.slice(head.length));
  if (exceeded === undefined) return readBounded(json);
  return id === undefined ? undefined : { is: "failed", id: Number(id), reason: `returned ${exceeded}` };
}

function readBounded(json: string): SandboxReply | undefined {
  const fields = parse(json);
  if (typeof fields !== "object" || fields === null) return undefined;
  const reply = fields as Readonly<Record<string, unknown>>;
  const { is, id, module, reason, level, text, failures } = reply;
  switch (is) {
    case "up":
      return { is };
    case "loading":
      return isIndex(module) ? { is, module } : undefined;
    case "begun":
      return isIndex(id) ? { is, id } : undefined;
    case "loaded":
      return Array.isArray(failures) && failures.every(isFailure)
        ? { is, failures: failures.map((one) => ({ module: one.module, message: oneLine(one.message) })) }
        : undefined;
    case "returned":
      if (!isIndex(id)) return undefined;
      return "value" in reply ? { is, id, value: reply["value"] } : { is, id };
    case "failed":
      return isIndex(id) && typeof reason === "string" ? { is, id, reason: oneLine(reason) } : undefined;
    case "log":
      return isLevel(level) && typeof text === "string"
        ? { is, level, text: oneLine(text, MAX_LOG_CHARACTERS) }
        : undefined;
    default:
      return undefined;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isLevel(value: unknown): value is (typeof LEVELS)[number] {
  return LEVELS.some((level) => level === value);
}

function isFailure(value: unknown): value is SandboxLoadFailure {
  if (typeof value !== "object" || value === null) return false;
  const { module, message } = value as Readonly<Record<string, unknown>>;
  return isIndex(module) && typeof message === "string";
}

function oneLine(text: string, maxCharacters = MAX_REASON_CHARACTERS): string {
  const isLong = text.length > maxCharacters;
  return (isLong ? `${text.slice(0, maxCharacters)}...` : text).replaceAll(CONTROL, " ");
}
