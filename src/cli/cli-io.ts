/** What the command line touches of its process. */
import type { EventEmitter } from "node:events";
import type { GatewayLogger } from "../embedded/gateway-logger.ts";

export interface CliIo {
  /** Writes to standard output. */
  out(text: string): void;
  /** Writes to standard error. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Emits `SIGTERM`, `SIGINT`, `SIGHUP` and `uncaughtException`: the process. */
  readonly signals: Pick<EventEmitter, "on" | "off">;
  /** Ends the process at once. */
  exit(code: number): void;
  createLogger(): GatewayLogger;
}
