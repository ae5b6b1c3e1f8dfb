/**
 * The commands, each loaded when it runs: `reveille --help` loads none of them.
 */
import { type Command, Option } from "commander";
import type { BacktestOptions } from "./backtest-command.ts";
import type { CheckOptions } from "./check-command.ts";
import type { ConsoleCommandOptions } from "./console-command.ts";
import type { CliIo } from "./io.ts";
import type { ChangeOptions, DeliveryChange } from "./deliveries/change.ts";
import type { ListCommandOptions } from "./deliveries/list.ts";
import type { ShowOptions } from "./deliveries/show.ts";
import type { StatsOptions } from "./deliveries/stats.ts";
import type { DoctorOptions } from "./doctor-command.ts";
import type { HooksOptions } from "./hooks-command.ts";
import type { MigrateOptions } from "./migrate-command.ts";
import type { MoveCommandOptions } from "./move-command.ts";
import type { KeysOptions } from "./keys-command.ts";
import type { ProbeCommandOptions } from "./probe-command.ts";
import type { PresetsOptions } from "./presets-command.ts";
import type { SendOptions } from "./send-command.ts";
import type { TransformNewOptions } from "./transform/new-command.ts";
import type { TransformTestOptions } from "./transform/test-command.ts";
import { addWaits } from "./waits/commands.ts";
import { readWhole, withConfig, withFilters, withGateway } from "./options.ts";

const MAX_LISTED = 10_000;
const MAX_CHANGED = 10_000;
const DEFAULT_LISTED = 20;

/** Adds `deliveries`, `hooks`, `waits`, `console`, `probe` and `backtest`; `finish` is given the exit code of a command that has one of its own. */
export function addOperatorCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  addDeliveries(program.command("deliveries"), io, finish);
  addHooks(program.command("hooks"), io);
  addWaits(program.command("waits"), io);
  withGateway(program.command("console"), io)
    .description("print a link that opens the console signed in, once and within 60 seconds")
    .action(async (options: ConsoleCommandOptions) => {
      const { printConsoleLink } = await import("./console-command.ts");
      await printConsoleLink(options, io);
    });
  withGateway(program.command("probe"), io)
    .description("send a signed sample through the public URL, as far as the mapping and no further")
    .argument("[mapping]", "its id as hooks list shows it (default: each with a route)")
    .action(async (mapping: string | undefined, options: ProbeCommandOptions) => {
      const { probe } = await import("./probe-command.ts");
      finish(await probe(mapping, options, io));
    });
  withGateway(program.command("backtest"), io)
    .description("judge stored deliveries by the configuration of today or an edited one; nothing is stored or sent")
    .option("--since <time>", "those received from then on: 2h, 7d, 2026-02-27", "7d")
    .option("--edited <file>", "judge by this configuration, hooks block or list of changed mappings (JSON5)")
    .action(async (options: BacktestOptions) => {
      const { backtest } = await import("./backtest-command.ts");
      await backtest(options, io);
    });
}

function addDeliveries(deliveries: Command, io: CliIo, finish: (code: number) => void): void {
  deliveries.description("list, inspect, replay, release, cancel, purge and resolve deliveries");
  withFilters(withGateway(deliveries.command("list", { isDefault: true }), io))
    .description("list the newest (the default)")
    .option("--open", "only failed ones that are not resolved")
    .option("--limit <number>", "how many at most", readWhole(1, MAX_LISTED), DEFAULT_LISTED)
    .option("--follow", "then print each one that arrives or changes its state, until Ctrl-C")
    .action(async (options: ListCommandOptions) => {
      if (options.follow === true) {
        const { followDeliveries } = await import("./deliveries/follow.ts");
        finish(await followDeliveries(options, io));
        return;
      }
      const { listDeliveries } = await import("./deliveries/list.ts");
      await listDeliveries(options, io);
    });
  withGateway(deliveries.command("show"), io)
    .description("show one with its runs, attempts, reasons and the reply of the agent")
    .argument("[id]", "as it is listed (default: the newest)")
    .option("--body", "print only the body, as it was received")
    .action(async (id: string | undefined, options: ShowOptions) => {
      const { showDelivery } = await import("./deliveries/show.ts");
      await showDelivery(id, options, io);
    });
  withGateway(deliveries.command("stats"), io)
    .description("count those of a period by mapping, with the runs of a day at that rate beside the budget")
    .option("--since <time>", "those received from then on: 2h, 7d, 2026-02-27", "24h")
    .option("--until <time>", "those received before then (default: now)")
    .action(async (options: StatsOptions) => {
      const { deliveryStats } = await import("./deliveries/stats.ts");
      await deliveryStats(options, io);
    });
  const addChange = (change: DeliveryChange, description: string): Command =>
    withFilters(withGateway(deliveries.command(change), io))
      .description(`${description}; filters in the place of ids mean all that fit`)
      .argument("[ids...]", "as they are listed")
      .option(
        "--limit <number>",
        "of those that fit and can be changed, so many at most, the newest",
        readWhole(1, MAX_CHANGED),
      )
      .option("--dry-run", "print what would happen and change nothing")
      .option("--yes", "do not ask for confirmation")
      .action(async (ids: readonly string[], options: ChangeOptions) => {
        const { changeDeliveries } = await import("./deliveries/change.ts");
        finish(await changeDeliveries(change, ids, options, io));
      });
  addChange("replay", "run them again, the oldest first").option(
    "--as-accepted",
    "as they were accepted, and not by today's configuration",
  );
  addChange("release", "let what is held begin, as it was accepted");
  addChange("cancel", "end what is queued, running or held");
  addChange("purge", "remove what has ended");
  addChange("resolve", "mark failed ones as resolved: they leave the list of open failures").option(
    "--note <text>",
    "why they need nothing more",
  );
}

function addHooks(hooks: Command, io: CliIo): void {
  hooks.description("the mappings, and which of them are paused");
  withGateway(hooks.command("list", { isDefault: true }), io)
    .description("list them with what of their budgets is used (the default)")
    .action(async (options: HooksOptions) => {
      const { listHooks } = await import("./hooks-command.ts");
      await listHooks(options, io);
    });
  for (const [change, description] of [
    ["pause", "let the calls of a mapping wait; * means all"],
    ["resume", "continue its runs, with a fresh budget"],
  ] as const) {
    withGateway(hooks.command(change), io)
      .description(description)
      .argument("<mapping>", "its id as it is listed, or *")
      .action(async (scope: string, options: HooksOptions) => {
        const { changeHook } = await import("./hooks-command.ts");
        await changeHook(change, scope, options, io);
      });
  }
}

const STRICT = "refuse a configuration with a part that misses something, and set none aside";

/** Adds the commands about a configuration and its senders; `finish` is given exit codes. */
export function addConfigurationCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withConfig(program.command("check"), io)
    .description("say whether the configuration is valid, and what could be safer")
    .option("--strict", STRICT)
    .option("--json", "as one JSON document")
    .action(async (options: CheckOptions) => {
      const { check } = await import("./check-command.ts");
      finish(await check(options, io));
    });
  withConfig(program.command("doctor"), io, "where the database is")
    .description("say what this machine is fit for, and what keeps transforms in on it")
    .option("--live", "ask each model of an agent for one word, which costs a few tokens")
    .option("--json", "as one JSON document")
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("./doctor-command.ts");
      finish(await doctor(options, io));
    });
  withConfig(program.command("migrate"), io)
    .description("make the tables of hooks.store in PostgreSQL, or bring them to this version")
    .option("--json", "as one JSON document")
    .action(async (options: MigrateOptions) => {
      const { migrateStore } = await import("./migrate-command.ts");
      finish(await migrateStore(options, io));
    });
  withConfig(program.command("move"), io, "where the database is")
    .description("copy the deliveries of the SQLite file to the empty tables of hooks.store; the gateway is stopped")
    .addOption(new Option("--from <store>", "where they are").choices(["sqlite"]).makeOptionMandatory())
    .addOption(new Option("--to <store>", "where they go").choices(["postgres"]).makeOptionMandatory())
    .option("--json", "as one JSON document")
    .action(async (options: MoveCommandOptions) => {
      const { moveStore } = await import("./move-command.ts");
      finish(await moveStore(options, io));
    });
  addPresets(program.command("presets"), io);
  withConfig(program.command("send"), io)
    .description("sign a sample as its sender would, post it to the running gateway and show the outcome")
    .argument("<preset>", "its name, or the name of a sender in hooks.senders")
    .argument("[sample]", "one of its samples (default: the first)")
    .option("--file <file>", "send this body instead of the sample's")
    .option("--same", "send it under its own id: a second call is then a copy of the first, and runs nothing")
    .option("--url <url>", "where the gateway is (default: as configured)")
    .option("--key <file>", "the sender's private key as PEM, for schemes that sign with one")
    .option("--wait <seconds>", "how long to wait for the delivery's final state", readWhole(0, 86_400), 60)
    .option("--json", "as one JSON document")
    .action(async (name: string, sample: string | undefined, options: SendOptions) => {
      const { send } = await import("./send-command.ts");
      finish(await send(name, sample, options, io));
    });
  withConfig(program.command("keys"), io, "where they are kept")
    .description("the keys that senders delivered themselves in a handshake (Asana, Notion)")
    .option("--show <route>", "print the key of a route, to be pasted into the sender's settings")
    .option("--forget <route>", "forget the key of a route, so that the sender can deliver another")
    .option("--json", "as one JSON document")
    .action(async (options: KeysOptions) => {
      const { keys } = await import("./keys-command.ts");
      await keys(options, io);
    });
}

function addPresets(presets: Command, io: CliIo): void {
  presets.description("the senders that are known, and their setup steps");
  withConfig(presets.command("list", { isDefault: true }), io)
    .description("list them, and how each proves who it is (the default)")
    .option("--json", "as JSON")
    .action(async (options: PresetsOptions) => {
      const { listPresets } = await import("./presets-command.ts");
      await listPresets(options, io);
    });
  withConfig(presets.command("show"), io)
    .description("show the setup steps, for the configuration and for the sender's settings")
    .argument("<preset>", "its name, or the name of a sender in hooks.senders")
    .option("--json", "as one JSON document")
    .action(async (name: string, options: PresetsOptions) => {
      const { showPreset } = await import("./presets-command.ts");
      await showPreset(name, options, io);
    });
}

/** Adds `transform`; `finish` is given the exit code of a command that has one of its own. */
export function addTransformCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  const transform = program.command("transform").description("begin a transform, and try one without a gateway");
  withConfig(transform.command("new"), io)
    .description("write a typed transform to start from, and print what to add to the configuration")
    .argument("<name>", "of the file without its extension: deploy, or team/deploy")
    .option("--js", "JavaScript in the place of TypeScript")
    .option("--preset <name>", "for what that sender sends, its payload typed as its samples are")
    .option("--json", "as one JSON document")
    .action(async (name: string, options: TransformNewOptions) => {
      const { newTransform } = await import("./transform/new-command.ts");
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
      const { testTransform } = await import("./transform/test-command.ts");
      finish(await testTransform(module, options, io));
    });
}
