import type { Command } from "commander";

/** The option that every command has. */
export function withConfig(command: Command): Command {
  return command.option("--config <file>", "the configuration file (default: ~/.reveille/reveille.json5)");
}

/** The options of a command that asks the running gateway. */
export function withGateway(command: Command): Command {
  return withConfig(command)
    .option("--url <url>", "where the gateway is (default: as configured)")
    .option("--json", "as one JSON document");
}
