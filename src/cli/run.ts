/** The command line of Reveille. */
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/errors.ts";
import { closestKey, shorten } from "../config/show-value.ts";
import { StartError } from "../hosts/embedded/errors.ts";
import { CliError, Interrupted, isForOwner } from "./errors.ts";
import type { CliIo } from "./io.ts";
import { addConfigurationCommands } from "./commands.ts";
import { addOperatorCommands } from "./commands.ts";
import { EXIT_CODES, exitText } from "./exit-codes.ts";
import { printableLines } from "./terminal-text.ts";
import packageJson from "../../package.json" with { type: "json" };
import { addTransformCommands } from "./commands.ts";

/** Adds commands that not every gateway has; `finish` is given exit codes. */
export type AddCommands = (program: Command, io: CliIo, finish: (code: number) => void) => void;

/** Runs a command line (without the program's name) and resolves with the exit code; never rejects. */
export async function runCli(args: readonly string[], io: CliIo, addCommands: AddCommands): Promise<number> {
  let code: number = EXIT_CODES.success;
  const finish = (given: number): void => {
    code = given;
  };
  const program = emptyProgram(io);
  // Commands inherit the program's settings only when they are made after them.
  for (const add of [addCommands, ...COMMON]) add(program, io, finish);
  try {
    refuseUnknownCommand(program, args);
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError || error instanceof Interrupted) return error.exitCode;
    const { qualifyKeys } = await import("../config/qualify-keys.ts");
    // Much of it may be someone else's words: a plugin's, a sender's, a file's.
    io.err(`${printableLines(qualifyKeys(explain(error), io.gateway.block))}\n`);
    return EXIT_CODES.failure;
  }
}

/** Commander would give an unknown word to the default command, whose error names neither. */
function refuseUnknownCommand(program: Command, args: readonly string[]): void {
  refuseOptionsBefore(program, args);
  let command = program;
  const path: string[] = [];
  for (const arg of args) {
    if (arg.startsWith("-") || command.commands.length === 0 || arg === "help") return;
    const names = command.commands.map((each) => each.name());
    const next = command.commands.find((each) => each.name() === arg);
    if (next === undefined) {
      const closest = closestKey(arg, names);
      const hint =
        closest === undefined ? `There are: ${names.join(", ")}.` : `Did you mean ${[...path, closest].join(" ")}?`;
      throw new CliError(`There is no command "${[...path, shorten(arg)].join(" ")}". ${hint}`);
    }
    path.push(arg);
    command = next;
  }
}

/** Commander takes options before a command for those of the default command, to which the command is one word too many. */
function refuseOptionsBefore(program: Command, args: readonly string[]): void {
  const takingValue = program.commands
    .flatMap((each) => each.options)
    .filter(({ required }) => required)
    .map(({ long }) => long);
  const own = ["--help", ...program.options.map(({ long }) => long)];
  let at = 0;
  while (args[at]?.startsWith("--") === true && !own.includes(args[at])) at += takingValue.includes(args[at]) ? 2 : 1;
  const name = args[at];
  if (at === 0 || !program.commands.some((each) => each.name() === name)) return;
  throw new CliError(
    `Options stand behind the command: ${[program.name(), ...args.slice(at), ...args.slice(0, at)].map(shorten).join(" ")}`,
  );
}

/** The commands of every gateway. */
const COMMON: readonly AddCommands[] = [addConfigurationCommands, addTransformCommands, addOperatorCommands];

function emptyProgram(io: CliIo): Command {
  return new Command(io.gateway.program)
    .description(io.gateway.description)
    .version(packageJson.version)
    .addHelpText("after", exitText)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        io.out(text);
      },
      writeErr: (text) => {
        io.err(text);
      },
    });
}

/** Errors whose message was written for the gateway's owner are printed as they are, the others with their stack. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return `The configuration is not valid.\n${error.message}`;
  if (error instanceof StartError || isForOwner(error)) {
    return error.message;
  }
  if (!(error instanceof Error)) return String(error);
  const isSystemError = "code" in error && "syscall" in error;
  return isSystemError ? error.message : (error.stack ?? error.message);
}
