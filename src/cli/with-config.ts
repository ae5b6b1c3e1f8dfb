import type { Command } from "commander";
import type { CliIo } from "./cli-io.ts";

/** The options that say where the files are, of commands of a gateway that lets one choose. */
export function withConfig(command: Command, io: CliIo, stateDir?: string): Command {
  if (!io.gateway.takesLocations) return command;
  command.option("--config <file>", "the configuration file (default: ~/.reveille/reveille.json5)");
  return stateDir === undefined ? command : command.option("--state-dir <dir>", stateDir);
}

/** The options of a command that asks the running gateway. */
export function withGateway(command: Command, io: CliIo): Command {
  return withConfig(command, io)
    .option("--url <url>", "where the gateway is (default: as configured)")
    .option("--json", "as one JSON document");
}
