import { Readable, Writable } from "node:stream";
import { format } from "node:util";
import type { SandboxReply } from "../messages.ts";

type Level = Extract<SandboxReply, { is: "log" }>["level"];

export interface CaptureConsoleOptions {
  readonly console: object;
  readonly process: object;
  /** Sends a frame. */
  readonly write: (json: string) => void;
}

/** The lines that modules wrote to the console since the last call or module began. */
export interface CapturedConsole {
  /** The next call begins. */
  readonly renew: () => void;
  /** Tells of something that no module has written. */
  readonly report: (level: Level, text: string) => void;
}

// A later replacement by a module does not count.
const { apply } = Reflect;
const formatText = format;
const stringify = JSON.stringify.bind(JSON);

const MAX_CHARACTERS = 1_000;
const MAX_LINES = 20;
const LEVELS: Readonly<Record<string, Level>> = {
  debug: "debug",
  log: "info",
  info: "info",
  warn: "warn",
  error: "error",
  trace: "debug",
};

/**
 * Makes lines for the gateway's log of what modules write to `console`, `process.stdout` and
 * `process.stderr`: 1,000 characters of a text and 20 texts for each call, the rest is dropped unread.
 * `process.stdin` is empty.
 */
export function captureConsole({ console, process, write }: CaptureConsoleOptions): CapturedConsole {
  let left = MAX_LINES;
  const report = (level: Level, text: string): void => {
    if (left <= 0) return;
    left--;
    const cut = text.length > MAX_CHARACTERS ? text.slice(0, MAX_CHARACTERS) : text;
    write(`{"is":"log","level":"${level}","text":${stringify(cut)}}`);
  };
  for (const [name, level] of Object.entries(LEVELS)) {
    const method = (...args: readonly unknown[]): void => {
      // Formatting may cost more than it is worth.
      if (left > 0) report(level, apply(formatText, undefined, args));
    };
    Object.defineProperty(console, name, { value: method, writable: true, configurable: true, enumerable: true });
  }
  // The console's other methods, such as table(), write to these.
  define(process, "stdout", sink("info", report));
  define(process, "stderr", sink("warn", report));
  define(process, "stdin", Readable.from([]));
  return { report, renew: () => void (left = MAX_LINES) };
}

function sink(level: Level, report: CapturedConsole["report"]): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk: unknown, _encoding, done) => {
      report(level, String(chunk).replace(/\n$/, ""));
      done();
    },
  });
}

function define(process: object, name: string, value: unknown): void {
  Object.defineProperty(process, name, { value, writable: true, configurable: true, enumerable: true });
}
