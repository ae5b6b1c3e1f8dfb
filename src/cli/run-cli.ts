/** The command line of Reveille. */
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config-error.ts";
import { StartError } from "../embedded/start-error.ts";
import { check } from "./check-command.ts";
import { CliError } from "./cli-error.ts";
import type { CliIo } from "./cli-io.ts";
import type { DoctorOptions } from "./doctor/doctor-command.ts";
import type { LocationOptions } from "./file-locations.ts";
import { ConfigExistsError } from "./first-config.ts";
import { init } from "./init-command.ts";
import type { InitOptions } from "./init-command.ts";
import { keys } from "./keys-command.ts";
import type { KeysOptions } from "./keys-command.ts";
import { addOperatorCommands } from "./operator-commands.ts";
import { printableLines } from "./printable.ts";
import { listPresets, showPreset } from "./presets-command.ts";
import type { PresetsOptions } from "./presets-command.ts";
import { readWhole } from "./read-whole.ts";
import { send } from "./send-command.ts";
import type { SendOptions } from "./send-command.ts";
import { serve } from "./serve-command.ts";
import type { ServeOptions } from "./serve-command.ts";
import { addTransformCommands } from "./transform/transform-commands.ts";
import { withConfig } from "./with-config.ts";

/** Runs a command line (without the program's name) and resolves with the exit code; never rejects. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  let code = 0;
  const program = buildProgram(io, (given) => {
    code = given;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    // Much of it may be somebody else's words: a plugin's, a sender's, a file's.
    io.err(`${printableLines(explain(error))}\n`);
    return 1;
  }
}

function buildProgram(io: CliIo, finish: (code: number) => void): Command {
  const program = new Command("reveille")
    .description("The webhook ingress of an AI-agent gateway, on its own embedded gateway.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        io.out(text);
      },
      writeErr: (text) => {
        io.err(text);
      },
    });
  // Commands inherit the settings above only when they are made after them.
  withConfig(program.command("serve", { isDefault: true }))
    .description("run the gateway (the default)")
    .option("--state-dir <dir>", "where the database is")
    .option("--host <address>", "loopback, lan or an address, instead of gateway.bind")
    .option("--port <number>", "instead of gateway.port; 0: a free one", readWhole(0, 65_535))
    .action(async (options: ServeOptions) => {
      finish(await serve(options, io));
    });
  withConfig(program.command("init"))
    .description("write a configuration with fresh tokens")
    .option("--force", "replace an existing one")
    .action((options: InitOptions) => {
      init(options, io);
    });
  withConfig(program.command("check"))
    .description("say whether the configuration is valid, and what could be safer")
    .action(async (options: LocationOptions) => {
      finish(await check(options, io));
    });
  withConfig(program.command("doctor"))
    .description("say what this machine is fit for, and what keeps transforms in on it")
    .option("--state-dir <dir>", "where the database is")
    .option("--json", "as one JSON document")
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("./doctor/doctor-command.ts");
      finish(await doctor(options, io));
    });
  const presets = withConfig(program.command("presets"))
    .description("list the senders that are known, and how each proves who it is")
    .option("--json", "as JSON")
    .action(async (options: PresetsOptions) => {
      await listPresets(options, io);
    });
  withConfig(presets.command("show"))
    .description("tell what to paste where, in the configuration and in the sender's settings")
    .argument("<preset>", "its name")
    .action(async (name: string, options: LocationOptions) => {
      await showPreset(name, options, io);
    });
  withConfig(program.command("send"))
    .description("sign a sample as its sender would, post it to the running gateway and tell what became of it")
    .argument("<preset>", "its name")
    .argument("[sample]", "one of its samples (default: the first)")
    .option("--file <file>", "send this body in the place of the sample's")
    .option("--url <url>", "where the gateway is (default: as configured)")
    .option("--key <file>", "the sender's private key as PEM, for schemes that sign with one")
    .option("--wait <seconds>", "how long to wait for the delivery's final state", readWhole(0, 86_400), 60)
    .action(async (name: string, sample: string | undefined, options: SendOptions) => {
      finish(await send(name, sample, options, io));
    });
  withConfig(program.command("keys"))
    .description("the keys that senders delivered themselves in a handshake (Asana, Notion)")
    .option("--state-dir <dir>", "where they are kept")
    .option("--show <route>", "print the key of a route, to be pasted into the sender's settings")
    .option("--forget <route>", "forget the key of a route, so that the sender can deliver another")
    .action(async (options: KeysOptions) => {
      await keys(options, io);
    });
  addTransformCommands(program, io, finish);
  addOperatorCommands(program, io, finish);
  return program;
}

/** Errors whose message was written for the gateway's owner are told as they are, the others with their stack. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return `The configuration is not valid.\n${error.message}`;
  if (error instanceof StartError || error instanceof ConfigExistsError || error instanceof CliError) {
    return error.message;
  }
  if (!(error instanceof Error)) return String(error);
  const isSystemError = "code" in error && "syscall" in error;
  return isSystemError ? error.message : (error.stack ?? error.message);
}
