import { exceededBound } from "./exceeded-bound.ts";
import type { SandboxLoadFailure, SandboxReply } from "./messages.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const MAX_LOG_CHARACTERS = 1_000;
const MAX_REASON_CHARACTERS = 2_000;
/** How the sandbox's worker begins the reply that holds a result. */
const RETURNED = /^\{"is":"returned","id":(\d{1,15}),"value":/;
/** Those that end a line or steer a terminal. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/**
 * Reads what a sandbox process says, which may be anything; `undefined`: it is no reply.
 *
 * Texts are cut and made one line; a returned value is data that nobody has looked at. One that is nested too
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
