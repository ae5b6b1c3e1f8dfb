import { definePreset } from "../define-preset.ts";
import { authorsAt, eventActor, ownActor } from "../event-fields.ts";
import {
  joinText,
  labeled,
  listAt,
  messageOf,
  textAt,
  valueAt,
  memberOf,
  wholeTextAt,
} from "../../core/payload-text.ts";
import type { ChatMessage, EventActor, EventAuthor, PresetContext, PresetEvent } from "../preset.ts";
import { headline, idLine, lineAt, phrase } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";

/** The kinds of update that hold a message, and the wording of each. */
const MESSAGES: Readonly<Record<string, string>> = {
  message: "Telegram message",
  edited_message: "Telegram message edited",
  channel_post: "Telegram channel post",
  edited_channel_post: "Telegram channel post edited",
  business_message: "Telegram business message",
  edited_business_message: "Telegram business message edited",
};

/** Contents of a message besides text: their key, and the paths of a description. */
const CONTENTS: readonly (readonly [key: string, label: string, ...paths: string[]])[] = [
  ["document", "Document", "file_name", "mime_type"],
  ["photo", "Photo"],
  ["video", "Video", "file_name", "mime_type"],
  ["voice", "Voice message", "mime_type"],
  ["audio", "Audio", "title", "file_name", "mime_type"],
  ["video_note", "Video note"],
  ["animation", "Animation", "file_name"],
  ["sticker", "Sticker", "emoji", "set_name"],
  ["contact", "Contact", "phone_number", "first_name"],
  ["venue", "Venue", "title", "address"],
  ["location", "Location", "latitude"],
  ["poll", "Poll", "question"],
  ["dice", "Dice", "value"],
  ["left_chat_member", "Left the chat", "username", "first_name"],
  ["pinned_message", "Pinned", "text"],
];

/** Updates of a Telegram bot. */
export const telegram = definePreset({
  name: "telegram",
  title: "Telegram",
  text: "plain",
  documentation: "https://core.telegram.org/bots/api#setwebhook",
  auth: { scheme: "secret", from: "header:x-telegram-bot-api-secret-token" },
  secret: { label: "secret_token", madeBy: "owner", minLength: 16 },
  event: ({ payload }) => kindOf(payload),
  eventWhere: "the key beside update_id",
  deliveryId: { from: "body:update_id", signed: false },
  sender: senderOf,
  authors: authorsOf,
  vouchesForActors: true,
  message,
  chat,
  mapping: { name: "Telegram" },
  success: { statuses: "2xx", otherwise: "tries again a reasonable number of times" },
  ignored: "updates of users that Telegram marks as bots, and what the bot sends for a business account",
  samples: {
    message: {
      payload: {
        update_id: 700000001,
        message: {
          message_id: 41,
          from: {
            id: 5001,
            is_bot: false,
            first_name: "Ada",
            last_name: "Lovelace",
            username: "ada_l",
            language_code: "en",
          },
          chat: { id: 5001, first_name: "Ada", last_name: "Lovelace", username: "ada_l", type: "private" },
          date: 1795176000,
          text: "/status of the nightly build",
          entities: [{ offset: 0, length: 7, type: "bot_command" }],
        },
      },
    },
    edited_message: {
      payload: {
        update_id: 700000002,
        edited_message: {
          message_id: 42,
          from: { id: 5002, is_bot: false, first_name: "Grace" },
          chat: { id: -1009000, title: "Operations", username: "example_ops", type: "supergroup" },
          date: 1795176000,
          edit_date: 1795176060,
          caption: "The log of last night",
          document: { file_id: "AgADexample", file_name: "night.log", mime_type: "text/plain" },
        },
      },
    },
    callback_query: {
      payload: {
        update_id: 700000003,
        callback_query: {
          id: "4382bfdwdsb323b2d9",
          from: { id: 5001, is_bot: false, first_name: "Ada", username: "ada_l" },
          message: {
            message_id: 43,
            from: { id: 9001, is_bot: true, first_name: "Agent", username: "example_agent_bot" },
            chat: { id: -1009000, title: "Operations", type: "supergroup" },
            date: 1795176000,
            text: "Deploy build 118?",
          },
          chat_instance: "-3000",
          data: "deploy:118:approve",
        },
      },
    },
    channel_post: {
      payload: {
        update_id: 700000004,
        channel_post: {
          message_id: 7,
          sender_chat: { id: -1008000, title: "Release notes", username: "example_releases", type: "channel" },
          chat: { id: -1008000, title: "Release notes", username: "example_releases", type: "channel" },
          date: 1795176000,
          text: "Version 2.4 is out.",
        },
      },
    },
  },
  setup: [
    "Choose the {secret} (16 to 256 letters, digits, _ and -, for example openssl rand -hex 32) and put it into hooks.telegram.secret.",
    'Register the webhook with the bot\'s token from @BotFather: curl https://api.telegram.org/bot<token>/setWebhook -H "content-type: application/json" -d \'{"url":"{url}","secret_token":"<{secret}>"}\'',
    "A bot has one webhook: setting this one ends getUpdates and any other webhook of the same bot.",
  ],
});

const KIND = /^[a-z_]{1,64}$/;

/** An update holds its id and one thing more, named by its kind. */
function kindOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return undefined;
  return Object.keys(payload).find((key) => key !== "update_id" && KIND.test(key));
}

/** What was forwarded, or came by another bot, is not the person's own. */
const NOT_OWN = ["forward_origin", "forward_date", "via_bot", "sender_chat", "business_connection_id"] as const;

function chat({ payload, event }: PresetEvent): ChatMessage | undefined {
  const content = contentOf(payload);
  if (event !== "message" || textAt(content, "chat.type") !== "private") return undefined;
  if (NOT_OWN.some((key) => valueAt(content, key) !== undefined)) return undefined;
  return { from: textAt(content, "from.id"), to: textAt(content, "chat.id"), text: wholeTextAt(content, "text") };
}

function contentOf(payload: unknown): unknown {
  const kind = kindOf(payload);
  return kind === undefined ? undefined : memberOf(payload, kind);
}

/** In the name of a group or a channel someone writes through an account of Telegram's own, which is marked as a bot. */
function writerOf(content: unknown): unknown {
  return ["sender_chat", "actor_chat", "from", "user"]
    .map((key) => valueAt(content, key))
    .find((who) => textAt(who, "id", "username", "first_name") !== "");
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const content = contentOf(payload);
  const from = writerOf(content);
  const id = lineAt(from, "id");
  const name = lineAt(from, "username") || nameOf(from) || id;
  // A business account has one bot, which gets what it sends for the account back as a message of the account.
  if (valueAt(content, "sender_business_bot") !== undefined) return ownActor(name, id);
  return eventActor(name, id, valueAt(from, "is_bot") === true);
}

const FORWARDED = ["forward_origin", "forward_date", "via_bot", "external_reply"] as const;

/** Whom the message quotes or forwards; not every forward tells who wrote. A bot's own message is the agent's. */
function authorsOf({ payload }: PresetContext): readonly EventAuthor[] {
  const content = contentOf(payload);
  const quoted = quotedIn(content);
  const forwarded = authorsAt(content, [{ id: "forward_origin.sender_user.id" }]);
  const isForwarded = FORWARDED.some((key) => valueAt(content, key) !== undefined);
  const isInName = valueAt(quoted, "sender_chat") !== undefined;
  const isQuoted = quoted !== undefined && (isInName || valueAt(quoted, "from.is_bot") !== true);
  return [
    ...(isForwarded && forwarded.length === 0 ? [{}] : forwarded),
    ...(isQuoted ? [(isInName ? undefined : authorsAt(quoted, [{ id: "from.id" }])[0]) ?? {}] : []),
  ];
}

/** Every message in a topic of a forum is a reply to its beginning, which holds no text of anyone. */
function quotedIn(content: unknown): unknown {
  const quoted = valueAt(content, "reply_to_message");
  return valueAt(quoted, "forum_topic_created") === undefined ? quoted : undefined;
}

function nameOf(who: unknown): string {
  return headline(lineAt(who, "first_name"), lineAt(who, "last_name")) || lineAt(who, "title", "username");
}

function message(context: PresetEvent): string {
  const { payload, event = "" } = context;
  const sender = senderOf(context);
  const content = contentOf(payload);
  if (Object.hasOwn(MESSAGES, event)) return chatMessage(MESSAGES[event]!, content, sender);
  if (event === "callback_query" || event === "inline_query") {
    const what = event === "callback_query" ? "Telegram button pressed" : "Telegram inline query";
    return messageOf(
      headline(what, phrase("by", nameOf(valueAt(content, "from"))), placeOf(valueAt(content, "message"))),
      textAt(content, "data", "query"),
      labeled("On the message", textAt(content, "message.text", "message.caption")),
      idLine(content, {
        query: "id",
        chat: "message.chat.id",
        message: ["message.message_id", "inline_message_id"],
        thread: "message.message_thread_id",
        user: "from.id",
      }),
      linkOf(valueAt(content, "message")),
    );
  }
  return unknownEvent("Telegram", context.event, sender, content);
}

function chatMessage(what: string, content: unknown, sender: EventActor | undefined): string {
  const by = nameOf(writerOf(content)) || (sender?.name ?? "");
  const place = placeOf(content);
  return messageOf(
    headline(what, phrase("from", `in ${by}` === place ? "" : by), place),
    textAt(content, "text", "caption"),
    CONTENTS.map(([key, label, ...paths]) => {
      const value = valueAt(content, key);
      if (typeof value !== "object" || value === null) return "";
      return labeled(label, paths.length === 0 ? "" : textAt(value, ...paths)) || label;
    }),
    labeled("Joined", joinText(", ", ...listAt(content, "new_chat_members").map(nameOf))),
    labeled("In reply to", textAt(content, "reply_to_message.text", "reply_to_message.caption")),
    idLine(content, {
      chat: "chat.id",
      message: "message_id",
      thread: "message_thread_id",
      "reply to": "reply_to_message.message_id",
      user: ["sender_chat.id", "from.id"],
      "business connection": "business_connection_id",
    }),
    linkOf(content),
  );
}

/** In a private chat the person has been named already. */
function placeOf(content: unknown): string {
  return phrase(
    "in",
    textAt(content, "chat.type") === "private" ? "" : lineAt(content, "chat.title", "chat.username", "chat.id"),
  );
}

/** Only what is in a public group or channel has an address. */
function linkOf(content: unknown): string {
  const chat = textAt(content, "chat.username");
  const id = textAt(content, "message_id");
  const isPublic = /^[A-Za-z0-9_]{4,64}$/.test(chat) && /^\d+$/.test(id) && textAt(content, "chat.type") !== "private";
  return isPublic ? `https://t.me/${chat}/${id}` : "";
}
