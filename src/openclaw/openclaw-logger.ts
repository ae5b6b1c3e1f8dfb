import type { Logger } from "../host.ts";
import type { OpenClawLogger } from "./openclaw-sdk.ts";

/** A line of the host's log is bounded; fields are cut first. */
const MAX_FIELDS_CHARS = 2_000;

/** The host's logger takes sentences only: fields follow the sentence as JSON, errors by their message. */
export function openClawLogger(logger: OpenClawLogger): Logger {
  return {
    debug: (fields, message) => logger.debug?.(line(fields, message)),
    info: (fields, message) => logger.info(line(fields, message)),
    warn: (fields, message) => logger.warn(line(fields, message)),
    error: (fields, message) => logger.error(line(fields, message)),
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
