import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliIo } from "./io.ts";

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

/** The options that select deliveries. */
export function withFilters(command: Command): Command {
  return command
    .option("--state <state>", "those in that state: queued, failed, filtered ...")
    .option("--route <route>", "those received at that path below the prefix")
    .option("--actor <name>", "deliveries whose event this person or bot caused")
    .option("--chain <delivery>", "deliveries that runs of this one, and of those after it, caused")
    .option("--level <level>", "deliveries of people of that level: unknown, known, trusted, owner")
    .addOption(new Option("--sender <name>", "the earlier name of --actor").hideHelp())
    .option("--since <time>", "those received from then on: 2h, 7d, 2026-02-27, 2026-02-27T10:00:00Z")
    .option("--until <time>", "those received before then")
    .option("--text <text>", "those with that text in name, event, reason or message");
}

/** Reads an option that is a whole number within bounds, both allowed. */
export function readWhole(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/u.test(text) ? Number(text) : NaN;
    if (!(value >= minimum && value <= maximum)) {
      throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
    }
    return value;
  };
}
