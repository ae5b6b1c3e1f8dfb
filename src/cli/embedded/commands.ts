import type { Command } from "commander";
import type { CliIo } from "../cli-io.ts";
import { init } from "../init-command.ts";
import type { InitOptions } from "../init-command.ts";
import { addOpenClawCommands } from "../openclaw/commands.ts";
import { readWhole } from "../read-whole.ts";
import { serve } from "../serve-command.ts";
import type { ServeOptions } from "../serve-command.ts";
import { withConfig } from "../with-config.ts";

/** Adds `serve`, which is the default, `init`, and what leads to another gateway. */
export function addEmbeddedCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withConfig(program.command("serve", { isDefault: true }), io, "where the database is")
    .description("run the gateway (the default)")
    .option("--host <address>", "loopback, lan or an address, instead of gateway.bind")
    .option("--port <number>", "instead of gateway.port; 0: a free one", readWhole(0, 65_535))
    .action(async (options: ServeOptions) => {
      finish(await serve(options, io));
    });
  withConfig(program.command("init"), io)
    .description("write a configuration with fresh tokens")
    .option("--force", "replace an existing one")
    .action((options: InitOptions) => {
      init(options, io);
    });
  addOpenClawCommands(program, io, finish);
}
