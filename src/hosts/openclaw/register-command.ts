import type { OpenClawApi, OpenClawConfig } from "./sdk.ts";

/** What a command of the plugin is run with. */
export interface OpenClawCommandContext {
  readonly pluginId: string;
  /** As the host has read it. */
  readonly config: OpenClawConfig;
  /** Of the host; absolute. */
  readonly stateDir: string;
}

export interface PluginCommand {
  /** Also the plugin's id. */
  readonly name: string;
  readonly description: string;
  readonly run: (args: readonly string[], context: OpenClawCommandContext) => Promise<number>;
}

/**
 * Adds one command to the host's program, which takes everything behind its name as it is: options, help
 * and errors are the command's own.
 */
export function registerCommand(api: OpenClawApi, { name, description, run }: PluginCommand): void {
  const descriptors = [{ name, description, hasSubcommands: true }];
  api.registerCli?.(
    ({ program, config }) => {
      program
        .command(name)
        .description(description)
        .helpOption(false)
        .allowUnknownOption()
        .argument("[arguments...]")
        .action(async (args: readonly string[]) => {
          const stateDir = api.runtime.state.resolveStateDir();
          process.exitCode = await run(args, { pluginId: name, config, stateDir });
        });
    },
    { descriptors },
  );
}
