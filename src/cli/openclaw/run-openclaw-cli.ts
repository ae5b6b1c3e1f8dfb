import { processIo } from "../process-io.ts";
import { runCli } from "../run-cli.ts";
import { addAdopt } from "./commands.ts";
import { OpenClawCliGateway } from "./cli-gateway.ts";
import type { OpenClawCliOptions } from "./cli-gateway.ts";

/** Runs `openclaw reveille <args>` in the host's own program; resolves with the exit code. */
export function runOpenClawCli(args: readonly string[], options: Omit<OpenClawCliOptions, "env">): Promise<number> {
  // Without a command there is nothing to run: a gateway of its own is another program.
  const given = args.length === 0 ? ["--help"] : args;
  return runCli(given, processIo(new OpenClawCliGateway({ ...options, env: process.env })), addAdopt);
}
