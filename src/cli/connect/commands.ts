import type { Command } from "commander";
import type { AddOptions } from "../add-command.ts";
import type { CliIo } from "../io.ts";
import { withGateway } from "../options.ts";
import type { RemoveOptions } from "../remove-command.ts";
import type { CatchUpOptions } from "./catch-up-command.ts";

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** Adds `add`, `remove` and `catch-up`, which ask senders. */
export function addConnectCommands(program: Command, io: CliIo, finish: (code: number) => void): void {
  withPlace(withToken(withGateway(program.command("add"), io)))
    .description("write a sender into the configuration, and register the webhook there or say what is left to do")
    .argument("<sender>", "the name of its preset; one that is in the configuration is only registered")
    .option("--secret-env <name>", "take the secret from this variable, in the place of a file")
    .option("--set <key=value>", "a setting of the sender, or a key of its mapping; may be repeated", collect, [])
    .option("--events <names>", "what it is to send, with commas between (default: what people do)")
    .option("--credentials-file <file>", "Microsoft Graph, Gmail, Google Calendar: JSON by which access tokens are had")
    .option("--resource <name>", "what these are to watch: a folder of mail, a topic, a calendar")
    .option("--token-url <url>", "where these give access tokens, in another cloud")
    .option("--state-dir <dir>", "where the gateway finds what it has to renew")
    .option("--replace", "Telegram: take the bot from another webhook; Stripe: make the endpoint once more")
    .action(async (name: string, options: AddOptions) => {
      const { addSender } = await import("../add-command.ts");
      finish(await addSender(name, options, io));
    });
  withToken(withGateway(program.command("remove"), io))
    .description("take a sender out of the configuration, with the secret that add wrote and the webhook it registered")
    .option("--state-dir <dir>", "where the gateway finds what it has to renew")
    .argument("<sender>", "the name of its preset")
    .action(async (name: string, options: RemoveOptions) => {
      const { removeSender } = await import("../remove-command.ts");
      await removeSender(name, options, io);
    });
  withPlace(withToken(withGateway(program.command("catch-up"), io)))
    .description("ask GitHub or Stripe for what it could not deliver, and take what is not here")
    .argument("<sender>", "the name of its preset, or of a sender in hooks.senders")
    .requiredOption("--since <time>", "from then on: 2h, 3d, 2026-02-27, 2026-02-27T10:00:00Z")
    .option("--dry-run", "print what would be taken, and take nothing")
    .option("--yes", "do not ask for confirmation")
    .action(async (name: string, options: CatchUpOptions) => {
      const { catchUp } = await import("./catch-up-command.ts");
      finish(await catchUp(name, options, io));
    });
}

/** The options that give the token of the sender's API. */
function withToken(command: Command): Command {
  return command
    .option("--token-env <name>", "take the token of the sender's API from this variable; it is used and not stored")
    .option("--token-file <file>", "take it from this file");
}

/** The options that say where at the sender. */
function withPlace(command: Command): Command {
  return command
    .option("--repo <owner/name>", "GitHub: the repository that is to call")
    .option("--org <name>", "GitHub: the organization that is to call")
    .option("--project <group/name>", "GitLab: the project that is to call")
    .option("--group <name>", "GitLab: the group that is to call")
    .option("--api <url>", "the API of your own server: https://github.example.com/api/v3");
}
