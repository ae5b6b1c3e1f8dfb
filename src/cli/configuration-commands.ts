import type { Command } from "commander";
import { check } from "./check-command.ts";
import type { CliIo } from "./cli-io.ts";
import type { DoctorOptions } from "./doctor/command.ts";
import type { LocationOptions } from "./file-locations.ts";
import { keys } from "./keys-command.ts";
import type { KeysOptions } from "./keys-command.ts";
import { listPresets, showPreset } from "./presets-command.ts";
import type { PresetsOptions } from "./presets-command.ts";
import { readWhole } from "./read-whole.ts";
import { send } from "./send-command.ts";
import type { SendOptions } from "./send-command.ts";
import { withConfig } from "./with-config.ts";

/** Adds the commands about a configuration and its senders; `finish` is given exit codes. */
export function addConfigurationCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withConfig(program.command("check"), io)
    .description("say whether the configuration is valid, and what could be safer")
    .action(async (options: LocationOptions) => {
      finish(await check(options, io));
    });
  withConfig(program.command("doctor"), io, "where the database is")
    .description("say what this machine is fit for, and what keeps transforms in on it")
    .option("--json", "as one JSON document")
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("./doctor/command.ts");
      finish(await doctor(options, io));
    });
  addPresets(withConfig(program.command("presets"), io), io);
  withConfig(program.command("send"), io)
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
  withConfig(program.command("keys"), io, "where they are kept")
    .description("the keys that senders delivered themselves in a handshake (Asana, Notion)")
    .option("--show <route>", "print the key of a route, to be pasted into the sender's settings")
    .option("--forget <route>", "forget the key of a route, so that the sender can deliver another")
    .action(async (options: KeysOptions) => {
      await keys(options, io);
    });
}

function addPresets(presets: Command, io: CliIo): void {
  presets
    .description("list the senders that are known, and how each proves who it is")
    .option("--json", "as JSON")
    .action(async (options: PresetsOptions) => {
      await listPresets(options, io);
    });
  withConfig(presets.command("show"), io)
    .description("tell what to paste where, in the configuration and in the sender's settings")
    .argument("<preset>", "its name")
    .action(async (name: string, options: LocationOptions) => {
      await showPreset(name, options, io);
    });
}
