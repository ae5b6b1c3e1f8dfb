/** The commands as a table, from which completions are made. */
import type { Command, Option } from "commander";

export interface CompletedCommand {
  /** `/deliveries/list`; empty for the program itself. */
  readonly path: string;
  readonly subcommands: readonly Described[];
  /** Those of the default subcommand included. */
  readonly options: readonly CompletedOption[];
  /** True: an argument is the name of a file. */
  readonly takesFile: boolean;
}

export interface Described {
  readonly name: string;
  readonly description: string;
}

/** `name` is `--json`. */
export interface CompletedOption extends Described {
  readonly value: "none" | "file" | "text";
}

const FILE_ARGUMENTS: ReadonlySet<string> = new Set(["file", "dir", "module"]);
const HELP: CompletedOption = { name: "--help", description: "show what the command takes", value: "none" };

/** Every command that is shown, the program itself first. */
export function commandTable(program: Command): readonly CompletedCommand[] {
  return tableOf(program, "");
}

function tableOf(command: Command, path: string): readonly CompletedCommand[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== "help");
  const inDefault = below.find((each) => isDefault(command, each));
  const options = [command, ...(inDefault === undefined ? [] : [inDefault])].flatMap(optionsOf);
  const own: CompletedCommand = {
    path,
    subcommands: below.map((each) => ({ name: each.name(), description: each.description() })),
    options: [...new Map([...options, HELP].map((option) => [option.name, option])).values()],
    takesFile: command.registeredArguments.some((argument) => FILE_ARGUMENTS.has(argument.name())),
  };
  return [own, ...below.flatMap((each) => tableOf(each, `${path}/${each.name()}`))];
}

/** The library keeps it to itself. */
function isDefault(command: Command, below: Command): boolean {
  return "_defaultCommandName" in command && command._defaultCommandName === below.name();
}

function optionsOf(command: Command): CompletedOption[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap((option) => (option.long === undefined ? [] : [completed(option, option.long)]));
}

function completed({ flags, description }: Option, name: string): CompletedOption {
  const value = /[<[](.+?)[>\]]$/u.exec(flags)?.[1];
  return { name, description, value: value === undefined ? "none" : FILE_ARGUMENTS.has(value) ? "file" : "text" };
}
