import { qualifyKeys } from "../../config/qualify-keys.ts";
import type { Logger } from "../../core/host.ts";
import type { OpenClawLogger } from "./sdk.ts";

/** A line of the host's log is bounded; fields are cut first. */
const MAX_FIELDS_CHARS = 2_000;

/**
 * The host's logger takes sentences only: fields follow the sentence as JSON, errors by their message. What is
 * said of the `hooks` block names it by `block`, where the host's owner finds it.
 */
export function openClawLogger(logger: OpenClawLogger, block = "hooks"): Logger {
  const text = (fields: object, message: string): string => qualifyKeys(line(fields, message), block);
  return {
    debug: (fields, message) => logger.debug?.(text(fields, message)),
    info: (fields, message) => logger.info(text(fields, message)),
    warn: (fields, message) => logger.warn(text(fields, message)),
    error: (fields, message) => logger.error(text(fields, message)),
  };
}

function line(fields: object, message: string): string {
  const text = JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? describe(value) : value));
  return text === "{}" ? message : `${message} ${text.slice(0, MAX_FIELDS_CHARS)}`;
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.name}: ${error.message}${cause}`;
}
