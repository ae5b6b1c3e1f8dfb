import type { OpenClawGatewayOptions } from "./gateway.ts";
import { inLoadContext } from "./async-context.ts";
import { registerDeliveriesTool, registerGatewayMethods } from "./owner-access.ts";
import { PlaceholderRoute } from "./placeholder-route.ts";
import { blockKey } from "./plugin-block.ts";
import type { OpenClawApi, OpenClawConfig, OpenClawServiceContext } from "./sdk.ts";

/** The default export of a plugin's entry, which OpenClaw loads. */
export interface OpenClawPluginDefinition {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  register(api: OpenClawApi): void;
}

export interface OpenClawPluginOptions extends Omit<OpenClawGatewayOptions, "pluginId" | "standing"> {
  /** Runs a command line of the plugin; resolves with the exit code. */
  readonly runCommand: (args: readonly string[], context: OpenClawCommandContext) => Promise<number>;
}

interface Stoppable {
  stop(): Promise<void>;
}

/**
 * The entry of a plugin. Registering only announces the service: the host registers plugins more than
 * once, and begins work by the service's start alone.
 */
export function defineOpenClawPlugin(
  about: Omit<OpenClawPluginDefinition, "register">,
  { runCommand, ...options }: OpenClawPluginOptions,
): OpenClawPluginDefinition {
  return {
    ...about,
    register(api) {
      // A change of the block is taken up by the running service: no request fails and no run is cut off.
      api.registerReload?.({ noopPrefixes: [blockKey(about.id)] });
      registerCommand(api, { name: about.id, description: about.description, run: runCommand });
      api.registerSecurityAuditCollector?.(async (context) => {
        const { auditSecurity } = await import("./security-audit.ts");
        return auditSecurity(context, { pluginId: about.id, block: options.block });
      });
      registerDeliveriesTool(api);
      if (api.registrationMode !== "full") return;
      registerGatewayMethods(api, about.id);
      const standing = PlaceholderRoute.register(api, { pluginId: about.id, block: options.block });
      let gateway: Stoppable | undefined;
      let starts = 0;
      api.registerService({
        id: about.id,
        async start(context: OpenClawServiceContext) {
          const start = ++starts;
          const { OpenClawGateway } = await inLoadContext(() => import("./gateway.ts"));
          // A host that waits no longer for the start has stopped the service already.
          if (start !== starts) return;
          const opened = new OpenClawGateway(api, context, { ...options, placeholder: standing, pluginId: about.id });
          gateway = opened;
          await opened.start();
        },
        async stop() {
          starts++;
          await gateway?.stop();
          gateway = undefined;
        },
      });
    },
  };
}

/** The arguments of a command of the plugin. */
export interface OpenClawCommandContext {
  readonly pluginId: string;
  /** As the host has read it. */
  readonly config: OpenClawConfig;
  /** Of the host; absolute. */
  readonly stateDir: string;
}

interface PluginCommand {
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
