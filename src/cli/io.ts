/** The parts of its process that the command line uses. */
import type { EventEmitter } from "node:events";
import { fstatSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Logger } from "../core/host.ts";
import type { GatewayLogger } from "../hosts/embedded/logger.ts";
import { Interrupted } from "./errors.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import type { CliGateway } from "./gateway.ts";

export interface CliIo {
  /** Writes to standard output. */
  out(text: string | Uint8Array): void;
  /** Writes to standard error. */
  err(text: string): void;
  /** True when standard output is a terminal, which obeys control characters. */
  readonly isTerminal: boolean;
  /** True once a write has shown that no one reads the standard output any more. */
  isUnread(): boolean;
  /** Reads the standard input to its end. */
  readInput(): Promise<Uint8Array>;
  /** The same when another program or a file is the standard input and has something to read; else `undefined`. */
  readPiped(): Promise<Uint8Array | undefined>;
  /** Asks a yes-or-no question; absent where no person can answer. */
  readonly confirm?: (question: string) => Promise<boolean>;
  /** Asks for a text, which is hidden while it is typed unless it `isShown`; absent where no person can answer. */
  readonly ask?: (question: string, options?: { readonly isShown: boolean }) => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whose commands these are. */
  readonly gateway: CliGateway;
  /** Emits `SIGTERM`, `SIGINT`, `SIGHUP` and `uncaughtException`: the process. */
  readonly signals: Pick<EventEmitter, "on" | "off">;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Loads what writes the log: a command that logs nothing starts without it. */
  createLogger(): GatewayLogger | Promise<GatewayLogger>;
}

/** The first error of the standard output. */
let outputError: Error | undefined;
const READER_ENDED: ReadonlySet<unknown> = new Set(["EPIPE", "ECONNRESET"]);

/** The process that a command runs in. */
export function processIo(gateway: CliGateway): CliIo {
  // A reader such as `head` may end first. What a command does is done all the same, and a gateway goes on.
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: Error) => {
    outputError ??= error;
  });
  return {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    isTerminal: process.stdout.isTTY,
    isUnread: () => outputError !== undefined,
    readInput,
    readPiped,
    ...(process.stdin.isTTY && process.stderr.isTTY ? { confirm, ask } : {}),
    env: process.env,
    gateway,
    signals: process,
    exit: (code) => process.exit(code),
    async createLogger() {
      const { createGatewayLogger } = await import("../hosts/embedded/logger.ts");
      const level = process.env.REVEILLE_LOG_LEVEL;
      return createGatewayLogger(level === undefined ? {} : { level });
    },
  };
}

/**
 * Resolves once what was written is with its readers, since the end of the process would cut it off. The exit code of
 * a success becomes that of a failure when a file could not take the output; a reader that has ended is no failure.
 */
export async function codeAfterOutput(code: number): Promise<number> {
  const { stdout, stderr } = process;
  const taken = [stdout, stderr].map((stream) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stream.write("", () => resolve());
    return promise;
  });
  await Promise.all(taken);
  if (outputError === undefined || ("code" in outputError && READER_ENDED.has(outputError.code))) return code;
  stderr.write(`The output could not be written: ${outputError.message}\n`);
  return code === EXIT_CODES.success ? EXIT_CODES.failure : code;
}

/** A program that starts this one may hold a pipe open and never write: its first byte is not awaited for long. */
const FIRST_BYTE_MS = 1_000;

async function readPiped(): Promise<Uint8Array | undefined> {
  if (!isPipeOrFile(0)) return undefined;
  const began = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, FIRST_BYTE_MS, false);
    const end = (began: boolean): void => {
      clearTimeout(timer);
      resolve(began);
    };
    process.stdin.once("readable", () => end(true));
    process.stdin.once("error", () => end(false));
  });
  if (!began) return undefined;
  const input = await readInput();
  return input.length === 0 ? undefined : input;
}

/** False for a terminal and for /dev/null. */
function isPipeOrFile(descriptor: number): boolean {
  try {
    const stats = fstatSync(descriptor);
    return stats.isFIFO() || stats.isFile() || stats.isSocket();
  } catch {
    return false;
  }
}

async function readInput(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

/** On standard error: standard output may be going into a file. */
async function confirm(question: string): Promise<boolean> {
  const answer = await answerAt({ input: process.stdin, output: process.stderr }, `${question} [y/N] `);
  return /^y(?:es)?$/iu.test(answer.trim());
}

async function ask(question: string, { isShown } = { isShown: false }): Promise<string> {
  const input = process.stdin;
  if (isShown) return answerAt({ input, output: process.stderr }, question);
  process.stderr.write(question);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await answerAt({ input, output: hidden }, "");
  } finally {
    process.stderr.write("\n");
  }
}

/** What is typed; nothing at Ctrl-D. Rejects with {@link Interrupted} at Ctrl-C, which is no signal while a line is read. */
export async function answerAt(
  { input, output }: { readonly input: NodeJS.ReadableStream; readonly output: Writable },
  question: string,
): Promise<string> {
  const terminal = createInterface({ input, output, terminal: true });
  const left = Promise.withResolvers<string>();
  const leave = (): void => {
    output.write("\n");
    left.resolve("");
  };
  terminal.once("SIGINT", () => {
    left.reject(new Interrupted(EXIT_CODES.SIGINT));
    leave();
  });
  // Also at the end of the input, where the question alone would wait for ever.
  terminal.once("close", leave);
  try {
    return await Promise.race([terminal.question(question).catch(() => left.promise), left.promise]);
  } finally {
    terminal.off("close", leave).close();
  }
}

/** A logger for a command whose report says what happened: it logs what is wrong, and nothing else. */
export function warningsOnly(logger: Logger): Logger {
  return {
    debug: () => {},
    info: () => {},
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}
