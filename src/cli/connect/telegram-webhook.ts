/**
 * The one webhook of a Telegram bot.
 *
 * Source: https://core.telegram.org/bots/api#setwebhook.
 */
import { textAt, valueAt } from "../../core/payload-text.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal-text.ts";
import type { Registrar } from "./registrar.ts";
import type { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

const TOKEN = /^(\d{1,20}):[\w-]{20,200}$/u;

export const telegramWebhook: Registrar = {
  preset: "telegram",
  title: "Telegram",
  api: "https://api.telegram.org",
  tokenKind: "the token of the bot, as @BotFather shows it",
  places: [],
  headersOf: () => ({}),
  async register(api, { url, secret, events, replace, before: kept }) {
    const id = botOf(api);
    const before = await webhookOf(api);
    if (!["", url, kept?.id === id ? kept.url : ""].includes(before) && !replace) {
      const host = printable(URL.parse(before)?.host ?? "another place", 100);
      throw new CliError(
        `The bot ${id} calls ${host} already, and a bot has one webhook. Add --replace to take it over.`,
      );
    }
    const body = { url, secret_token: secret, ...(events === undefined ? {} : { allowed_updates: events }) };
    await ask(api, "setWebhook", body, `set the webhook of the bot ${id}`);
    return { id, name: `the webhook of the bot ${id}`, isNew: before !== url, events: events ?? [] };
  },
  async remove(api, { id, url }) {
    const bot = botOf(api);
    if (bot !== id) throw new CliError(`The token is that of the bot ${bot}, and the webhook that of the bot ${id}.`);
    // Since then it may have been given to someone else.
    if ((await webhookOf(api)) !== url) return false;
    await ask(api, "deleteWebhook", {}, `delete the webhook of the bot ${id}`);
    return true;
  },
};

/** The id of the bot, which is the public part of its token. */
function botOf({ token }: SenderApi): string {
  const id = TOKEN.exec(token)?.[1];
  if (id === undefined) throw new CliError("The token of a bot looks like 123456:ABC..., as @BotFather shows it.");
  return id;
}

/** Its URL; empty: it has none. */
async function webhookOf(api: SenderApi): Promise<string> {
  return textAt(await ask(api, "getWebhookInfo", {}, "say where its webhook is"), "result.url");
}

async function ask(api: SenderApi, name: string, body: object, act: string): Promise<unknown> {
  const { body: answer } = await api.call({ method: "POST", path: `/bot${api.token}/${name}`, body, act });
  if (valueAt(answer, "ok") !== true) throw new CliError(`Telegram was asked to ${act} and did not say that it did.`);
  return answer;
}
