/** The gateway's log: JSON lines, or readable ones on a terminal, without secrets. */
import { setTimeout as startTimer } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { isatty } from "node:tty";
import pino from "pino";
import pretty from "pino-pretty";
import type { Logger } from "../../core/host.ts";
import { CENSOR, flatLine } from "./flat-line.ts";

type Level = keyof Logger;

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

const SECRETS: ReadonlySet<string> = new Set(secretKeys);

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
  // The file of the log can be on a disk that is full: lines wait, and no write may end the gateway or hold up its end.
  destination.on("error", () => {
    destination.flushSync = () => {};
  });
  const batches = new LineBatches(destination);
  const stream = readable
    ? pretty({ destination, colorize: isatty(fd), translateTime: "SYS:yyyy-mm-dd HH:MM:ss.l" })
    : batches;
  const logger = pino(
    {
      level: level in pino.levels.values || level === "silent" ? level : "info",
      base: undefined,
      timestamp: isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: CENSOR },
    },
    stream,
  );
  const log = (label: Level, fields: object, message: string): void => {
    if (!logger.isLevelEnabled(label)) return;
    const start = `{"level":"${label}"${isoTime()}`;
    const line =
      readable || fields instanceof Error
        ? undefined
        : flatLine(start, fields as Readonly<Record<string, unknown>>, { message, secretKeys: SECRETS });
    if (line === undefined) logger[label](fields, message);
    else batches.write(line);
  };
  return {
    debug: (fields, message) => log("debug", fields, message),
    info: (fields, message) => log("info", fields, message),
    warn: (fields, message) => log("warn", fields, message),
    error: (fields, message) => log("error", fields, message),
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

/** The time of a line as pino writes it. Lines of one millisecond share the text, which takes as long as the rest of a line. */
function isoTime(): string {
  const now = Date.now();
  if (now !== textMs) {
    textMs = now;
    timeText = `,"time":"${new Date(now).toISOString()}"`;
  }
  return timeText;
}

let textMs = Number.NaN;
let timeText = "";

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
