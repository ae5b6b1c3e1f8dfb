/** What the command line touches of its process. */
import type { EventEmitter } from "node:events";
import type { CliGateway } from "./cli-gateway.ts";
import type { GatewayLogger } from "../hosts/embedded/gateway-logger.ts";

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
  createLogger(): GatewayLogger;
}
