import { createInterface } from "node:readline/promises";
import { createGatewayLogger } from "../hosts/embedded/gateway-logger.ts";
import type { CliGateway } from "./cli-gateway.ts";
import type { CliIo } from "./cli-io.ts";

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
    createLogger: () =>
      createGatewayLogger(
        process.env.REVEILLE_LOG_LEVEL === undefined ? {} : { level: process.env.REVEILLE_LOG_LEVEL },
      ),
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
