import type { Command } from "commander";
import type { CliIo } from "../io.ts";
import type { AdoptOptions } from "./adopt-command.ts";

type Finish = (code: number) => void;

/** Adds `openclaw adopt` to a program that is not OpenClaw's own. */
export function addOpenClawCommands(program: Command, io: CliIo, finish: Finish): void {
  addAdopt(program.command("openclaw").description("Reveille inside an OpenClaw gateway"), io, finish);
}

/** Adds `adopt`; `finish` is given its exit code. */
export function addAdopt(program: Command, io: CliIo, finish: Finish): void {
  program
    .command("adopt")
    .description("convert the hooks block of OpenClaw, and report what changes")
    .option("--config <file>", "OpenClaw's configuration (default: where OpenClaw looks for it)")
    .option("--transforms <isolation>", "process or none: where transforms are to run (default: process)")
    .option("--skip-broken", "leave out mappings that cannot be adopted, and adopt the rest")
    .option("--dry-run", "print what would be written, and write nothing")
    .option("--json", "as one JSON document")
    .action(async (options: AdoptOptions) => {
      const { adopt } = await import("./adopt-command.ts");
      finish(await adopt(options, io));
    });
}
