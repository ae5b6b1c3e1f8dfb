/** The commands with which an operator looks at the running gateway and acts on it. */
import type { Command } from "commander";
import type { CliIo } from "./cli-io.ts";
import { changeDeliveries } from "./deliveries/change.ts";
import type { ChangeOptions } from "./deliveries/change.ts";
import type { DeliveryChange } from "./deliveries/outcome.ts";
import { listDeliveries } from "./deliveries/list.ts";
import type { ListOptions } from "./deliveries/list.ts";
import { showDelivery } from "./deliveries/show.ts";
import type { ShowOptions } from "./deliveries/show.ts";
import { withFilters } from "./deliveries/delivery-filters.ts";
import { changeHook, listHooks } from "./hooks-command.ts";
import type { HooksOptions } from "./hooks-command.ts";
import { readWhole } from "./read-whole.ts";
import { withGateway } from "./with-config.ts";

const MAX_LISTED = 10_000;
const MAX_CHANGED = 10_000;
const DEFAULT_LISTED = 20;

/** Adds `deliveries` and `hooks`; `finish` is given the exit code of a command that has one of its own. */
export function addOperatorCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  addDeliveries(program.command("deliveries"), io, finish);
  addHooks(program.command("hooks"), io);
}

function addDeliveries(deliveries: Command, io: CliIo, finish: (code: number) => void): void {
  deliveries.description("what came in, what became of it, and what to do about it");
  withFilters(withGateway(deliveries.command("list", { isDefault: true }), io))
    .description("list the newest (the default)")
    .option("--limit <number>", "how many at most", readWhole(1, MAX_LISTED), DEFAULT_LISTED)
    .action(async (options: ListOptions) => {
      await listDeliveries(options, io);
    });
  withGateway(deliveries.command("show"), io)
    .description("show one with its runs, their attempts and the reasons")
    .argument("<id>", "as it is listed")
    .option("--body", "print the body as it came in, and nothing else")
    .action(async (id: string, options: ShowOptions) => {
      await showDelivery(id, options, io);
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
      .option("--yes", "do not ask whether all that fit are meant")
      .action(async (ids: readonly string[], options: ChangeOptions) => {
        finish(await changeDeliveries(change, ids, options, io));
      });
  addChange("replay", "run them again, the oldest first").option(
    "--as-accepted",
    "as they were accepted, and not by today's configuration",
  );
  addChange("cancel", "end what is queued, running or held");
  addChange("purge", "remove what has ended");
}

function addHooks(hooks: Command, io: CliIo): void {
  hooks.description("the mappings, and which of them are paused");
  withGateway(hooks.command("list", { isDefault: true }), io)
    .description("list them with what of their budgets is used (the default)")
    .action(async (options: HooksOptions) => {
      await listHooks(options, io);
    });
  for (const [change, description] of [
    ["pause", "let the calls of a mapping wait; * means all"],
    ["resume", "let them go on, and forget what was counted for the budget"],
  ] as const) {
    withGateway(hooks.command(change), io)
      .description(description)
      .argument("<mapping>", "its id as it is listed, or *")
      .action(async (scope: string, options: HooksOptions) => {
        await changeHook(change, scope, options, io);
      });
  }
}
