import { definePreset } from "../../define-preset.ts";
import { authorsAt, eventActor } from "../../event-fields.ts";
import {
  itemLines,
  joinText,
  labeled,
  listAt,
  messageOf,
  textAt,
  valueAt,
  memberOf,
} from "../../../core/payload-text.ts";
import type { EventActor, PresetAnswer, PresetContext, PresetEvent } from "../../preset.ts";
import { headline, idLine, lineAt, oneLine, phrase } from "../../message/headline.ts";
import { unknownEvent } from "../../message/unknown-event.ts";
import { discordApplication } from "./discord-application.ts";

/** Interaction types; https://docs.discord.com/developers/interactions/receiving-and-responding */
const EVENTS: Readonly<Record<string, string>> = {
  "1": "ping",
  "2": "application_command",
  "3": "message_component",
  "4": "application_command_autocomplete",
  "5": "modal_submit",
};

const json = (body: object): PresetAnswer => ({
  status: 200,
  contentType: "application/json",
  body: JSON.stringify(body),
});

/** Seen by the one who acted only. */
const EPHEMERAL = 64;
const RECEIVED = json({ type: 4, data: { content: "Received.", flags: EPHEMERAL } });

/** Discord wants a real answer within 3 seconds, or shows the person that the application did not respond. */
const ANSWERS: Readonly<Record<string, PresetAnswer>> = {
  application_command: RECEIVED,
  message_component: json({ type: 6 }),
  application_command_autocomplete: json({ type: 8, data: { choices: [] } }),
  modal_submit: RECEIVED,
};

/** Commands, buttons, menus and forms of a Discord application. */
export const discordInteractions = definePreset({
  name: "discord-interactions",
  title: "Discord interactions",
  text: "plain",
  documentation: "https://docs.discord.com/developers/interactions/overview",
  ...discordApplication,
  handshakes: [{ name: "PING", verified: true, when: { "body:type": "1" }, reply: { status: 200, json: { type: 1 } } }],
  event: ({ payload }) => eventOf(payload),
  eventWhere: "the type of the interaction",
  deliveryId: { from: "body:id", signed: true },
  sender: senderOf,
  authors: ({ payload }) =>
    Object.values(valueAt(payload, "data.resolved.messages") ?? {}).flatMap((message) =>
      authorsAt(message, [{ id: "author.id" }]),
    ),
  vouchesForActors: true,
  skip({ event }) {
    if (event === "ping") return "Discord checks the URL";
    return event === "application_command_autocomplete" ? "Discord asks for suggestions on every key" : undefined;
  },
  answer: ({ event }) => (event === undefined ? undefined : ownValue(ANSWERS, event)),
  message,
  mapping: { name: "Discord" },
  success: {
    statuses: "200 with JSON, within 3 seconds",
    otherwise: "shows the person that the application did not respond, and does not try again",
  },
  ignored: "events of users that Discord marks as bots, pings, requests for suggestions",
  samples: {
    application_command: {
      payload: {
        id: "1300000000000000001",
        application_id: "1200000000000000000",
        type: 2,
        token: "invented-interaction-token",
        version: 1,
        guild_id: "1100000000000000000",
        channel_id: "1100000000000000001",
        channel: { id: "1100000000000000001", name: "support", type: 0 },
        member: { nick: null, user: { id: "1000000000000000001", username: "ada", global_name: "Ada Lovelace" } },
        data: {
          id: "1200000000000000001",
          name: "ask",
          type: 1,
          options: [{ name: "question", type: 3, value: "When is the next release?" }],
        },
      },
    },
    message_component: {
      payload: {
        id: "1300000000000000002",
        application_id: "1200000000000000000",
        type: 3,
        token: "invented-interaction-token",
        version: 1,
        channel_id: "1100000000000000002",
        user: { id: "1000000000000000002", username: "grace", global_name: "Grace Hopper" },
        message: { id: "1300000000000000000", content: "Deploy build 118?" },
        data: { component_type: 2, custom_id: "deploy:118:approve" },
      },
    },
    modal_submit: {
      payload: {
        id: "1300000000000000003",
        application_id: "1200000000000000000",
        type: 5,
        token: "invented-interaction-token",
        version: 1,
        channel: { id: "1100000000000000001", name: "support", type: 0 },
        member: { user: { id: "1000000000000000001", username: "ada", global_name: null } },
        data: {
          custom_id: "report",
          components: [{ type: 1, components: [{ type: 4, custom_id: "summary", value: "The page is blank." }] }],
        },
      },
    },
  },
  setup: [
    "At discord.com/developers/applications choose the application; under General Information copy the {secret} into hooks.discord-interactions.secret.",
    "Start the gateway, then paste {url} as Interactions Endpoint URL on the same page and save: Discord checks it at once, also with wrong signatures.",
    "Create the commands that people are to use; the answer they see is a short confirmation, the agent's reply goes where the mapping sends it.",
  ],
});

function eventOf(payload: unknown): string | undefined {
  const type = textAt(payload, "type");
  return type === "" ? undefined : (ownValue(EVENTS, type) ?? `interaction_${type}`);
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const user = valueAt(payload, "member.user") ?? valueAt(payload, "user");
  const id = lineAt(user, "id");
  const name = lineAt(user, "username") || id;
  return eventActor(name, id, valueAt(user, "bot") === true);
}

function message(context: PresetEvent): string {
  const { payload, event } = context;
  const sender = senderOf(context);
  const display = lineAt(payload, "member.nick", "member.user.global_name", "user.global_name") || (sender?.name ?? "");
  const by = phrase("by", display);
  const place = phrase("in", lineAt(payload, "channel.name", "channel_id", "channel.id"));
  const name = lineAt(payload, "data.name", "data.custom_id");
  if (event === "application_command") {
    const slash = textAt(payload, "data.type") === "1" || textAt(payload, "data.type") === "" ? "/" : "";
    return messageOf(
      headline("Discord command", name && slash + name, by, place),
      itemLines(optionsOf(valueAt(payload, "data")), String),
      filesOf(payload),
      targetOf(payload),
      idsOf(payload),
    );
  }
  if (event === "message_component") {
    return messageOf(
      headline("Discord component", name, "used", by, place),
      labeled("Chosen", joinText(", ", ...listAt(payload, "data.values").map((value) => textAt(value, "")))),
      labeled("On the message", textAt(payload, "message.content")),
      idsOf(payload),
      linkOf(payload),
    );
  }
  if (event === "modal_submit") {
    return messageOf(
      headline("Discord form", name, "submitted", by, place),
      itemLines(inputsOf(payload), inputLine),
      filesOf(payload),
      idsOf(payload),
    );
  }
  return unknownEvent("Discord", event, sender, valueAt(payload, "data"));
}

/** Of a command in the menu of a user. */
const USER_COMMAND = "2";

/** An option and an input only have the ids of their files. */
function filesOf(payload: unknown): readonly string[] {
  const files = Object.entries(valueAt(payload, "data.resolved.attachments") ?? {});
  return itemLines(files, (entry) => {
    const [id, file] = entry as [string, unknown];
    const text = headline(lineAt(file, "filename"), textAt(file, "url"));
    return labeled(headline("Attachment", oneLine(id)), text);
  });
}

/** Without the interaction's token, by which anyone could answer as the application. */
function idsOf(payload: unknown): string {
  const isOnUser = textAt(payload, "data.type") === USER_COMMAND;
  return idLine(payload, {
    guild: "guild_id",
    channel: ["channel_id", "channel.id"],
    message: ["message.id", ...(isOnUser ? [] : ["data.target_id"])],
    "target user": isOnUser ? "data.target_id" : "none",
    user: ["member.user.id", "user.id"],
    interaction: "id",
  });
}

const SNOWFLAKE = /^\d{1,20}$/u;

function linkOf(payload: unknown): string {
  const [guild, channel, message] = [
    lineAt(payload, "guild_id") || "@me",
    lineAt(payload, "channel_id", "channel.id"),
    lineAt(payload, "message.id"),
  ];
  const isPlain = [channel, message].every((id) => SNOWFLAKE.test(id)) && (guild === "@me" || SNOWFLAKE.test(guild));
  return isPlain ? `https://discord.com/channels/${guild}/${channel}/${message}` : "";
}

/** Groups hold subcommands, and these hold the options with values. */
const OPTION_DEPTH = 3;

function optionsOf(parent: unknown, depth = OPTION_DEPTH): readonly string[] {
  if (depth === 0) return [];
  return listAt(parent, "options").flatMap((option) => {
    const own = labeled(textAt(option, "name"), textAt(option, "value"));
    if (own !== "") return [own];
    const isCommand = textAt(option, "type") === "1" || textAt(option, "type") === "2";
    return [isCommand ? labeled("Subcommand", textAt(option, "name")) : "", ...optionsOf(option, depth - 1)];
  });
}

/** The target of a command in a user's or message's menu. */
function targetOf(payload: unknown): readonly string[] {
  const id = textAt(payload, "data.target_id");
  if (id === "") return [];
  const resolved = valueAt(payload, "data.resolved");
  return [
    labeled("On the message", textAt(memberOf(valueAt(resolved, "messages"), id), "content")),
    labeled("On the user", textAt(memberOf(valueAt(resolved, "users"), id), "global_name", "username")),
  ];
}

/** Inputs are in rows (`components`) or under a label (`component`). */
function inputsOf(payload: unknown): readonly unknown[] {
  return listAt(payload, "data.components").flatMap((row) => {
    const labeledInput = valueAt(row, "component");
    return labeledInput === undefined ? listAt(row, "components") : [labeledInput];
  });
}

function inputLine(input: unknown): string {
  const chosen = listAt(input, "values").map((value) => textAt(value, ""));
  const value = joinText(", ", textAt(input, "value"), ...chosen);
  return labeled(textAt(input, "custom_id"), value);
}

function ownValue<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
