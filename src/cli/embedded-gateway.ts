import { Argument, type Command } from "commander";
import type { ReadConfigOptions } from "../hosts/embedded/config/read.ts";
import type {
  CliGateway,
  GatewayAccess,
  GatewayCommandOptions,
  ModelEndpoint,
  MovedState,
  TriedConfinement,
  TriedModel,
  OpenedConfiguration,
  OpenOptions,
} from "./gateway.ts";
import type { CliIo } from "./io.ts";
import {
  type FileLocations,
  findLocations,
  isThere,
  type LocationEnvironment,
  type LocationOptions,
} from "./file-locations.ts";
import type { ConfigOptions } from "./config-command.ts";
import type { EmbeddedAdoptOptions } from "./adopt-command.ts";
import type { InitOptions } from "./init-command.ts";
import { addConnectCommands } from "./connect/commands.ts";
import { addOpenClawCommands } from "./openclaw/commands.ts";
import { readWhole, withConfig, withGateway } from "./options.ts";
import type { ServeOptions } from "./serve-command.ts";
import type { BackupOptions } from "./backup/backup-command.ts";
import type { RestoreOptions } from "./backup/restore-command.ts";
import type { ApprovalsOptions } from "./approvals-command.ts";
import type { Shell } from "./completion/scripts.ts";
import type { PageOptions } from "./sessions-command.ts";

/** The embedded gateway, which `reveille serve` runs. */
export class EmbeddedCliGateway implements CliGateway {
  readonly program = "reveille";
  readonly description = "The webhook ingress of an AI-agent gateway, on its own embedded gateway.";
  readonly takesLocations = true;
  readonly block = "hooks";
  readonly defaultPath = "/hooks";
  readonly setupCommand = "reveille init";
  readonly #environment: LocationEnvironment;

  constructor(around: LocationEnvironment) {
    this.#environment = around;
  }

  async movedState(): Promise<MovedState> {
    const { STATE_MODULE_URL: module } = await import("../hosts/embedded/state/sqlite-module.ts");
    const { MOVED_STATE: tables } = await import("../hosts/embedded/state/moved-tables.ts");
    return { module, tables };
  }

  locate(options: LocationOptions): FileLocations {
    return findLocations(options, this.#environment);
  }

  isConfigured(options: LocationOptions): boolean {
    return isThere(this.locate(options).configFile);
  }

  async open(options: LocationOptions, open: OpenOptions): Promise<OpenedConfiguration> {
    const { openConfiguration } = await import("./embedded-configuration.ts");
    return openConfiguration(this.#read(options), { ...open, stateDir: this.locate(options).stateDir });
  }

  async access(options: GatewayCommandOptions): Promise<GatewayAccess> {
    const { gatewayAccess } = await import("./embedded-configuration.ts");
    return gatewayAccess(this.#read(options), options);
  }

  async modelEndpoints(options: LocationOptions): Promise<readonly ModelEndpoint[]> {
    const { configuredModels } = await import("./embedded-configuration.ts");
    return configuredModels(this.#read(options));
  }

  async tryModels(options: LocationOptions): Promise<readonly TriedModel[]> {
    const { tryConfiguredModels } = await import("./embedded-configuration.ts");
    return tryConfiguredModels(this.#read(options));
  }

  async tryConfinement(options: LocationOptions): Promise<TriedConfinement> {
    const { tryConfinement } = await import("./embedded-configuration.ts");
    return tryConfinement(this.#read(options));
  }

  #read(options: LocationOptions): ReadConfigOptions {
    return { file: this.locate(options).configFile, env: this.#environment.env };
  }
}

/** Adds `serve`, which is the default, `init`, what edits the file, and what leads to another gateway. */
export function addEmbeddedCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withConfig(program.command("serve", { isDefault: true }), io, "where the database is")
    .description("run the gateway (the default)")
    .option("--host <address>", "loopback, lan or an address, instead of gateway.bind")
    .option("--port <number>", "instead of gateway.port; 0: a free one", readWhole(0, 65_535))
    .option("--strict", "refuse a configuration with a part that misses something, and set none aside")
    .option("--accept-loss", "start also when the database lacks calls that were accepted")
    .option("--compact", "rewrite the database first, so that the file has no free space and can shrink")
    .option("--json", "print the URLs as lines of JSON")
    .action(async (options: ServeOptions) => {
      const { serve } = await import("./serve-command.ts");
      finish(await serve(options, io));
    });
  withConfig(program.command("init"), io)
    .description("write a configuration with fresh tokens")
    .option("--force", "replace an existing one")
    .option("--json", "as one JSON document")
    .action(async (options: InitOptions) => {
      const { init } = await import("./init-command.ts");
      init(options, io);
    });
  withConfig(program.command("adopt"), io)
    .description("write the configuration from that of an OpenClaw gateway, and name what it cannot carry")
    .argument("[file]", "OpenClaw's configuration (default: where OpenClaw looks for it)")
    .option("--transforms <isolation>", "process or none: where transforms are to run (default: process)")
    .option("--skip-broken", "leave out mappings that cannot be adopted, and adopt the rest")
    .option("--dry-run", "print the report and write nothing")
    .option("--json", "as one JSON document")
    .action(async (file: string | undefined, options: EmbeddedAdoptOptions) => {
      const { adoptIntoEmbedded } = await import("./adopt-command.ts");
      finish(await adoptIntoEmbedded(file, options, io));
    });
  addConnectCommands(program, io, finish);
  addFileCommands(program, io);
  addBackupCommands(program, io, finish);
  addSessions(program, io);
  addApprovals(program.command("approvals"), io);
  addOpenClawCommands(program, io, finish);
  program
    .command("completion")
    .description("print the completion of commands and options for a shell")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(["bash", "zsh", "fish"]))
    .action(async (shell: Shell) => {
      const { completionScript } = await import("./completion/scripts.ts");
      const { commandTable } = await import("./completion/table.ts");
      io.out(completionScript(shell, io.gateway.program, commandTable(program)));
    });
}

/** Adds `config`, which edits the file of a gateway that has one of its own. */
function addFileCommands(program: Command, io: CliIo): void {
  const config = program.command("config").description("read and edit the configuration file; its comments stay");
  const edit = (name: string, description: string): Command =>
    withConfig(config.command(name), io)
      .description(description)
      .argument("<path>", "as messages show it: hooks.mappings[0].name")
      .option("--json", "as one JSON document");
  edit("get", "print what the file has there").action(async (path: string, options: ConfigOptions) => {
    const { getConfig } = await import("./config-command.ts");
    getConfig(path, options, io);
  });
  edit("set", "write a value there, when the file is valid with it")
    .argument("<value>", "JSON5; anything else is a text")
    .action(async (path: string, value: string, options: ConfigOptions) => {
      const { setConfig } = await import("./config-command.ts");
      await setConfig(path, value, options, io);
    });
  edit("unset", "remove what is there, when the file is valid without it").action(
    async (path: string, options: ConfigOptions) => {
      const { unsetConfig } = await import("./config-command.ts");
      await unsetConfig(path, options, io);
    },
  );
  config
    .command("schema")
    .description("print the JSON Schema of the file")
    .action(async () => {
      const { printSchema } = await import("./config-command.ts");
      printSchema(io);
    });
}

/** Adds `backup` and `restore`. */
function addBackupCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withConfig(program.command("backup"), io, "where the database is")
    .description("write database, configuration, transforms and presets into one file, also while the gateway runs")
    .argument("<file>", "the backup: <name>.tar.gz")
    .option("--with-secrets", "also the secrets: guard the file as you guard them")
    .option("--force", "replace an existing file")
    .option("--json", "as one JSON document")
    .action(async (file: string, options: BackupOptions) => {
      const { backUp } = await import("./backup/backup-command.ts");
      finish(await backUp(file, options, io));
    });
  withConfig(program.command("restore"), io, "where the database is to be")
    .description("prove a backup and put its files where a gateway that does not run looks for them")
    .argument("<file>", "the backup")
    .option("--verify", "only prove it, and write nothing")
    .option("--force", "move aside what is there")
    .option("--json", "as one JSON document")
    .action(async (file: string, options: RestoreOptions) => {
      const { restore } = await import("./backup/restore-command.ts");
      finish(await restore(file, options, io));
    });
}

/** Adds the commands about the questions of agents. */
function addApprovals(approvals: Command, io: CliIo): void {
  approvals.description("the questions of agents that wait for your answer");
  withGateway(approvals.command("list", { isDefault: true }), io)
    .description("list them, the latest first (the default)")
    .action(async (options: ApprovalsOptions) => {
      const { listApprovals } = await import("./approvals-command.ts");
      await listApprovals(options, io);
    });
  for (const answer of ["approve", "deny"] as const) {
    withGateway(approvals.command(answer), io)
      .description(`${answer} one act, once`)
      .argument("<id>", "the id of the question, as list and the message show it")
      .action(async (id: string, options: ApprovalsOptions) => {
        const { answerApproval } = await import("./approvals-command.ts");
        await answerApproval(answer, id, options, io);
      });
  }
}

const MAX_LISTED = 10_000;

/** Adds the commands about what was said: `outbox` and `sessions`. */
function addSessions(program: Command, io: CliIo): void {
  const paged = (command: Command): Command =>
    withGateway(command, io).option("--limit <number>", "how many at most", readWhole(1, MAX_LISTED), 20);
  paged(program.command("outbox"))
    .description("what agents and notices sent on the channels, the newest first")
    .action(async (options: PageOptions) => {
      const { listOutbox } = await import("./sessions-command.ts");
      await listOutbox(options, io);
    });
  const sessions = program.command("sessions").description("the conversations of agents");
  paged(sessions.command("list", { isDefault: true }))
    .description("list them, the latest first (the default)")
    .action(async (options: PageOptions) => {
      const { listSessions } = await import("./sessions-command.ts");
      await listSessions(options, io);
    });
  paged(sessions.command("show"))
    .description("print what was said in one, and the system events that wait for its next turn")
    .argument("[session]", "its key as it is listed; main is the main session of the default agent", "main")
    .action(async (session: string, options: PageOptions) => {
      const { showSession } = await import("./sessions-command.ts");
      await showSession(session, options, io);
    });
}
