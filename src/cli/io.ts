/** The parts of its process that the command line uses. */
import type { EventEmitter } from "node:events";
import { createInterface } from "node:readline/promises";
import type { Logger } from "../core/host.ts";
import type { GatewayLogger } from "../hosts/embedded/logger.ts";
import type { CliGateway } from "./gateway.ts";

export interface CliIo {
  /** Writes to standard output. */
  out(text: string | Uint8Array): void;
  /** Writes to standard error. */
  err(text: string): void;
  /** True when standard output is a terminal, which obeys control characters. */
  readonly isTerminal: boolean;
  /** Asks a yes-or-no question; absent where no person can answer. */
  readonly confirm?: (question: string) => Promise<boolean>;
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

/** The process that a command runs in. */
export function processIo(gateway: CliGateway): CliIo {
  return {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    isTerminal: process.stdout.isTTY,
    ...(process.stdin.isTTY && process.stderr.isTTY ? { confirm } : {}),
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

/** On standard error: standard output may be going into a file. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/iu.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
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
