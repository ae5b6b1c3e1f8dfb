/** The commands of `reveille waits`, each loaded when it runs. */
import { type Command, Option } from "commander";
import { LEVELS } from "../../core/level.ts";
import type { CliIo } from "../io.ts";
import { readWhole, withGateway } from "../options.ts";
import type { AddWaitOptions, WaitsOptions } from "./manage.ts";

export function addWaits(waits: Command, io: CliIo): void {
  waits.description("sessions that wait to be resumed by an event");
  withGateway(waits.command("list", { isDefault: true }), io)
    .description("list them, the next deadline first (the default)")
    .action(async (options: WaitsOptions) => {
      const { listWaits } = await import("./manage.ts");
      await listWaits(options, io);
    });
  withGateway(waits.command("show"), io)
    .description("show one, and why it has not been fulfilled yet")
    .argument("<id>", "as it is listed")
    .action(async (id: string, options: WaitsOptions) => {
      const { showWait } = await import("./manage.ts");
      await showWait(id, options, io);
    });
  withEvent(withGateway(waits.command("add"), io))
    .description("let a session wait for an event")
    .option("--within <time>", "the deadline, from now on: 2h, 30m, 7d")
    .option("--agent <id>", "the agent (default: the default one)")
    .option("--session <key>", "the session (default: the main session of the agent)")
    .option("--note <text>", "what is waited for, in words for the session")
    .option("--times <number>", "how often it is resumed (default: once)", readWhole(1, 1_000))
    .option("--instead", "do not begin the mapping's own run as well")
    .action(async (options: AddWaitOptions) => {
      const { addWait } = await import("./manage.ts");
      await addWait(options, io);
    });
  withEvent(withGateway(waits.command("backtest"), io))
    .description("say when a wait would have been fulfilled by what is stored; nothing is changed")
    .option("--since <time>", "by those received from then on: 2h, 7d, 2026-02-27", "7d")
    .action(async (options: AddWaitOptions) => {
      const { backtestWait } = await import("./manage.ts");
      await backtestWait(options, io);
    });
  withGateway(waits.command("cancel"), io)
    .description("end one: its session is not resumed")
    .argument("<id>", "as it is listed")
    .action(async (id: string, options: WaitsOptions) => {
      const { cancelWait } = await import("./manage.ts");
      await cancelWait(id, options, io);
    });
}

function withEvent(command: Command): Command {
  return command
    .option("--hook <mapping>", "for a call that this mapping takes")
    .option("--sender <preset>", "for an event of this sender, whatever the mapping")
    .option("--event <name>", "for the event of that name; * matches any characters")
    .option("--when <condition>", "for an event that meets this condition in CEL")
    .option("--value <path=value>", "for an event with that value in its payload: deployment.id=7")
    .addOption(new Option("--min-level <level>", "the least level of who acted").choices([...LEVELS]))
    .option("--file <file>", "all of it as JSON, in the place of the other options");
}
