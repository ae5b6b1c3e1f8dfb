/** The gateway's log: JSON lines, or readable ones on a terminal, without secrets. */
import { isatty } from "node:tty";
import pino from "pino";
import pretty from "pino-pretty";
import type { Logger } from "../host.ts";

export interface GatewayLogger extends Logger {
  /** Writes what is buffered; to be called before the process exits. */
  flush(): void;
}

export interface GatewayLoggerOptions {
  /** Standard error when absent. */
  readonly fd?: number;
  /** The least level that is written; `info` when absent or unknown. */
  readonly level?: string;
  /** Lines for people instead of JSON; by default when `fd` is a terminal. */
  readonly readable?: boolean;
}

/** What a reader that is too slow can make the gateway keep in memory; lines over it are dropped. */
const maxBufferBytes = 8 * 1024 * 1024;

const secretKeys = ["authorization", "token", "tokens", "authTokens", "secret", "secrets", "apiKey", "password"];

/** A name alone, and one or two objects deep: as deep as anything here logs. */
const redactedPaths = secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);

/**
 * Makes the logger of the process. Values under names that hold secrets (`authorization`, `token`,
 * `secret`, `apiKey` ...) are replaced, and an error's own fields are held to the same list.
 */
export function createGatewayLogger(options: GatewayLoggerOptions = {}): GatewayLogger {
  const { fd = 2, level = "info", readable = isatty(fd) } = options;
  // Asynchronous: a reader of the log that is slow, or stands still, must not hold up requests.
  const destination = pino.destination({ fd, sync: false, maxLength: maxBufferBytes });
  const stream = readable ? pretty({ destination, colorize: isatty(fd) }) : destination;
  const logger = pino(
    {
      level: level in pino.levels.values || level === "silent" ? level : "info",
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: "[redacted]" },
    },
    stream,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => {
      destination.flushSync();
    },
  };
}
