/** The gateway's log: JSON lines, or readable ones on a terminal, without secrets. */
import { setTimeout as startTimer } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { isatty } from "node:tty";
import pino from "pino";
import pretty from "pino-pretty";
import type { Logger } from "../../core/host.ts";

export interface GatewayLogger extends Logger {
  /** Resolves once what was logged is written, or after a second if no one reads it; for the end of the process. */
  flush(): Promise<void>;
}

export interface GatewayLoggerOptions {
  /** Standard error when absent. */
  readonly fd?: number;
  /** The least level that is written; `info` when absent or unknown. */
  readonly level?: string;
  /** Lines for people instead of JSON; by default when `fd` is a terminal. */
  readonly readable?: boolean;
}

/** Bytes that a slow reader can make the gateway keep in memory; lines over it are dropped. */
const maxBufferBytes = 8 * 1024 * 1024;

/** Time that the end of the process waits for a reader that does not read. */
const flushWaitMs = 1000;

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
  // A least length of 1 writes at once as 0 would, but with 0 the destination's flush waits for nothing.
  const destination = pino.destination({ fd, sync: false, maxLength: maxBufferBytes, minLength: 1 });
  const batches = new LineBatches(destination);
  const stream = readable
    ? pretty({ destination, colorize: isatty(fd), translateTime: "SYS:yyyy-mm-dd HH:MM:ss.l" })
    : batches;
  const redacting = (paths: string[]): pino.Logger =>
    pino(
      {
        level: level in pino.levels.values || level === "silent" ? level : "info",
        base: undefined,
        timestamp: isoTime(),
        formatters: { level: (label) => ({ level: label }) },
        redact: { paths, censor: "[redacted]" },
      },
      stream,
    );
  const nested = redacting(redactedPaths);
  // The lines of requests and runs hold no objects: without paths into objects, one costs 2 us and not 17.
  const flat = redacting(secretKeys);
  const loggerFor = (fields: object): pino.Logger => (isFlat(fields) ? flat : nested);
  return {
    debug: (fields, message) => loggerFor(fields).debug(fields, message),
    info: (fields, message) => loggerFor(fields).info(fields, message),
    warn: (fields, message) => loggerFor(fields).warn(fields, message),
    error: (fields, message) => loggerFor(fields).error(fields, message),
    flush: async () => {
      batches.send();
      // An error, such as that of a pipe that cannot be synchronized, changes nothing at this point.
      const written = new Promise<void>((resolve) => {
        destination.flush(() => {
          resolve();
        });
      });
      await Promise.race([written, setTimeout(flushWaitMs, undefined, { ref: false })]);
    },
  };
}

/**
 * The time of a line as pino writes it. Lines of one millisecond share the text: making it is 0.7 of the 1.9 us of a
 * line.
 */
function isoTime(): () => string {
  let at = Number.NaN;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/** True when no field is an object, in which a secret could be. An error is never flat. */
function isFlat(fields: object): boolean {
  if (fields instanceof Error) return false;
  for (const name of Object.keys(fields)) {
    const value: unknown = (fields as Readonly<Record<string, unknown>>)[name];
    if (typeof value === "object" && value !== null) return false;
  }
  return true;
}

/** Lines that are together longer than this are written at once. */
const batchLength = 32 * 1024;
/** The time after which a line is written in any case. */
const batchMs = 50;

/**
 * Writes lines together: a write for each line cost 2 to 4 of 85 us of processor time of an accepted call, and the
 * thread that wrote took its core from the main thread (`npm run bench -- calls`).
 */
class LineBatches {
  readonly #destination: Pick<ReturnType<typeof pino.destination>, "write">;
  #lines = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(destination: Pick<ReturnType<typeof pino.destination>, "write">) {
    this.#destination = destination;
  }

  /** As pino calls it. */
  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length > batchLength) this.send();
    else this.#timer ??= startTimer(() => this.send(), batchMs).unref();
  }

  /** Writes the lines that wait. */
  send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = "";
    if (lines !== "") this.#destination.write(lines);
  }
}
