/** The commands for whoever writes a transform. */
import type { Command } from "commander";
import type { CliIo } from "../cli-io.ts";
import type { TransformNewOptions } from "./new-command.ts";
import type { TransformTestOptions } from "./test-command.ts";
import { withConfig } from "../with-config.ts";

/** Adds `transform`; `finish` is given the exit code of a command that has one of its own. */
export function addTransformCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  const transform = program.command("transform").description("begin a transform, and try one without a gateway");
  withConfig(transform.command("new"), io)
    .description("write a typed transform to begin with, and tell what to add to the configuration")
    .argument("<name>", "of the file without its extension: deploy, or team/deploy")
    .option("--js", "JavaScript in the place of TypeScript")
    .option("--preset <name>", "for what that sender sends, its payload typed as its samples are")
    .action(async (name: string, options: TransformNewOptions) => {
      const { newTransform } = await import("./new-command.ts");
      await newTransform(name, options, io);
    });
  withConfig(transform.command("test"), io)
    .description("call a transform and print what an agent would get; nothing is stored or sent")
    .argument("<module>", "its file, relative to the transforms folder")
    .option("--payload <file>", "call it with this body; - reads standard input")
    .option("--content-type <type>", "of that body (default: application/json)")
    .option("--preset <name>", "call it with a sample of that sender")
    .option("--sample <name>", "which of its samples (default: the first)")
    .option("--delivery <id>", "call it with what a delivery of the running gateway holds")
    .option("--url <url>", "where the gateway is (default: as configured)")
    .option("--mapping <id>", "the mapping to try it with (default: the one that names the module)")
    .option("--export <name>", "the function that is called (default: as the mapping says)")
    .option("--watch", "call it again after each change of its folder, until Ctrl-C")
    .option("--json", "as one JSON document")
    .action(async (module: string, options: TransformTestOptions) => {
      const { testTransform } = await import("./test-command.ts");
      finish(await testTransform(module, options, io));
    });
}
