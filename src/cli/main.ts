#!/usr/bin/env node
/** The program: wires the command line to its process. */
import { homedir } from "node:os";
import { createGatewayLogger } from "../embedded/gateway-logger.ts";
import { runCli } from "./run-cli.ts";

process.exit(
  await runCli(process.argv.slice(2), {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    env: process.env,
    homeDir: homedir(),
    signals: process,
    exit: (code) => process.exit(code),
    createLogger: () =>
      createGatewayLogger(
        process.env.REVEILLE_LOG_LEVEL === undefined ? {} : { level: process.env.REVEILLE_LOG_LEVEL },
      ),
  }),
);
