import { definePreset } from "../../define-preset.ts";
import { unwrapFormPayload } from "../../embedded-payload.ts";
import {
  itemLines,
  joinText,
  labeled,
  listAt,
  messageOf,
  textAt,
  valueAt,
  wholeTextAt,
} from "../../../core/payload-text.ts";
import type { EventActor, PresetAnswer, PresetEvent } from "../../preset.ts";
import { headline, idLine, lineAt, phrase, titled } from "../../message/headline.ts";
import { unknownEvent } from "../../message/unknown-event.ts";
import { slackText } from "./slack-text.ts";
import { entriesOf, inputsOf, inputValue } from "./slack-inputs.ts";
import { slackActor, slackAuthors } from "./slack-actor.ts";
import { slackChat } from "./slack-chat.ts";
import { slackObjects } from "./slack-objects.ts";
import { SLACK_SAMPLES } from "./slack-samples.ts";

/** Types whose answer Slack would not take for that of an interaction. */
const EVENT_TYPES: ReadonlySet<string> = new Set(["", "event_callback", "url_verification", "app_rate_limited"]);

/**
 * Events, slash commands and interactivity of a Slack app, all at one URL.
 *
 * Commands and interactivity come as forms; those with JSON in the field `payload` are unwrapped. They are
 * answered with an empty 200, since Slack shows any other content to the person who acted.
 */
export const slack = definePreset({
  name: "slack",
  title: "Slack",
  text: "plain",
  documentation: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
  auth: {
    scheme: "signature",
    from: "header:x-slack-signature",
    prefix: "v0=",
    content: "v0:{timestamp}:{body}",
    timestamp: { from: "header:x-slack-request-timestamp" },
  },
  secret: { label: "Signing Secret", madeBy: "sender", minLength: 32, known: ["8f742231b10e8888abcd99yyyzzz85a5"] },
  handshakes: [
    {
      name: "url_verification",
      verified: true,
      when: { "body:type": "url_verification", "body:challenge": true },
      reply: { status: 200, text: "{body:challenge}" },
    },
    {
      // Unsigned, so that nothing but the check itself is taken.
      name: "ssl_check",
      verified: false,
      when: { "body:ssl_check": "1" },
      onlyKeys: ["ssl_check", "token"],
      reply: { status: 200 },
    },
  ],
  event: ({ payload }) => eventOf(payload),
  eventWhere: "type and subtype of the event, the type of the payload, or slash_command",
  deliveryId: {
    from: ({ payload }) => textAt(payload, "event_id", "trigger_id") || undefined,
    signed: true,
    where: "body:event_id, or body:trigger_id of commands and interactivity",
  },
  sender: slackActor,
  authors: slackAuthors,
  vouchesForActors: true,
  roles: { member: "known" },
  objects: slackObjects,
  unwrap: unwrapFormPayload,
  skip({ payload }) {
    const type = textAt(payload, "type");
    if (type === "url_verification" || textAt(payload, "ssl_check") === "1") return "Slack checks the URL";
    if (isPreview(payload)) return "Slack added the preview of a link, and no one edited the message";
    return type === "block_suggestion" ? "Slack asks for the options of a menu on every key" : undefined;
  },
  answer: answerOf,
  message,
  chat: slackChat,
  mapping: { name: "Slack", links: ["*.slack.com"], accept: ["json", "form"] },
  success: {
    statuses: "2xx, within 3 seconds",
    otherwise: "tries 3 times within about 6 minutes, and turns events off when nearly all fail",
  },
  ignored:
    "messages of bots and apps, Slackbot and the app itself, previews that Slack adds to a message, checks of the URL, requests for a menu's options",
  samples: SLACK_SAMPLES,
  setup: [
    "At api.slack.com/apps choose the app; under Basic Information, App Credentials, copy the {secret} into hooks.slack.secret.",
    "Under Event Subscriptions turn events on, paste {url} as Request URL (Slack checks it at once), and subscribe to bot events such as app_mention and message.im.",
    "For slash commands and buttons paste {url} also under Slash Commands and under Interactivity & Shortcuts.",
    "Install the app again when Slack asks for it, and invite its bot to the channels it is to read.",
  ],
});

function eventOf(payload: unknown): string | undefined {
  const type = textAt(payload, "type");
  if (type === "event_callback") {
    return joinText(".", textAt(payload, "event.type"), textAt(payload, "event.subtype")) || undefined;
  }
  if (type === "" && textAt(payload, "command") !== "") return "slash_command";
  return type || undefined;
}

/** A message with a link comes a second time, as changed, when Slack has looked the link up. An edit has a mark of its own. */
function isPreview(payload: unknown): boolean {
  if (textAt(payload, "event.subtype") !== "message_changed") return false;
  const [now, before] = [valueAt(payload, "event.message"), valueAt(payload, "event.previous_message")];
  const isSame = (path: string): boolean => wholeTextAt(now, path) === wholeTextAt(before, path);
  return wholeTextAt(now, "text") !== "" && isSame("text") && isSame("edited.ts") && isSame("subtype");
}

function answerOf({ payload }: PresetEvent): PresetAnswer | undefined {
  const type = textAt(payload, "type");
  if (type === "block_suggestion") return { status: 200, contentType: "application/json", body: '{"options":[]}' };
  const isInteraction = !EVENT_TYPES.has(type) || (type === "" && textAt(payload, "command") !== "");
  return isInteraction ? { status: 200 } : undefined;
}

function message(context: PresetEvent): string {
  const { payload, event } = context;
  const sender = slackActor(context);
  const by = phrase("by", sender?.name ?? "");
  const type = textAt(payload, "type");
  if (type === "event_callback") return eventMessage(context, sender);
  if (event === "slash_command") {
    return messageOf(
      headline("Slack command", lineAt(payload, "command"), by, placeOf(payload)),
      slackText(textAt(payload, "text")),
      idsOf(payload),
    );
  }
  if (type === "block_actions") {
    return messageOf(
      headline("Slack action", by, placeOf(payload)),
      itemLines(listAt(payload, "actions"), actionLine),
      labeled("On the message", slackText(textAt(payload, "message.text"))),
      idsOf(payload),
      linkOf(payload),
    );
  }
  if (type === "view_submission" || type === "view_closed") {
    return messageOf(
      headline("Slack form", textAt(payload, "view.title.text"), type === "view_closed" ? "closed" : "submitted", by),
      labeled("Form", textAt(payload, "view.callback_id")),
      itemLines(inputsOf(payload), String),
      idsOf(payload),
    );
  }
  if (type === "shortcut" || type === "message_action") {
    return messageOf(
      headline("Slack shortcut", lineAt(payload, "callback_id"), by, placeOf(payload)),
      labeled("On the message", slackText(textAt(payload, "message.text"))),
      idsOf(payload),
      linkOf(payload),
    );
  }
  return unknownEvent("Slack", event, sender, withoutSecrets(payload));
}

function eventMessage({ payload, event }: PresetEvent, sender: EventActor | undefined): string {
  const inner = valueAt(payload, "event");
  const type = textAt(inner, "type");
  const by = phrase("by", sender?.name ?? "");
  const channel = phrase("in", lineAt(inner, "channel", "channel.name", "channel.id", "item.channel"));
  if (type === "message" || type === "app_mention") {
    const subtype = textAt(inner, "subtype");
    const what = type === "app_mention" ? "Slack mention" : (MESSAGE_WORDS[subtype] ?? "Slack message");
    const text = textAt(
      inner,
      "message.text",
      "text",
      "previous_message.text",
      "attachments[0].text",
      "attachments[0].fallback",
    );
    return messageOf(
      headline(what, by, channel),
      labeled("In the thread", textAt(inner, "thread_ts", "message.thread_ts")),
      slackText(text),
      itemLines(listAt(inner, "files"), (file) =>
        labeled("File", headline(textAt(file, "name", "title"), textAt(file, "permalink"))),
      ),
      idsOf(payload),
      linkOf(payload),
    );
  }
  if (type === "reaction_added" || type === "reaction_removed") {
    const what = type === "reaction_added" ? "Slack reaction added" : "Slack reaction removed";
    return messageOf(
      headline(what, by, channel),
      labeled("Reaction", textAt(inner, "reaction")),
      idsOf(payload),
      linkOf(payload),
    );
  }
  return unknownEvent("Slack", event, sender, inner);
}

const MESSAGE_WORDS: Readonly<Record<string, string>> = {
  message_changed: "Slack message edited",
  message_deleted: "Slack message deleted",
};

function placeOf(payload: unknown): string {
  return phrase("in", lineAt(payload, "channel_name", "channel.name", "channel_id", "channel.id"));
}

function actionLine(action: unknown): string {
  const name = textAt(action, "text.text", "action_id", "name", "type");
  return titled(name, inputValue(action));
}

const TS = [
  "event.message.ts",
  "event.previous_message.ts",
  "event.ts",
  "event.item.ts",
  "message.ts",
  "container.message_ts",
];
const CHANNELS = [
  "event.channel",
  "event.channel.id",
  "event.item.channel",
  "channel_id",
  "channel.id",
  "container.channel_id",
];

/** With `ts` and channel an agent answers in the thread, with the user's id it mentions the person. */
function idsOf(payload: unknown): string {
  return idLine(payload, {
    team: ["team_id", "team.id"],
    channel: CHANNELS,
    ts: TS,
    thread_ts: ["event.thread_ts", "event.message.thread_ts", "message.thread_ts"],
    user: ["event.user", "event.user.id", "event.message.user", "event.previous_message.user", "user_id", "user.id"],
  });
}

/** The message's address; only commands and interactivity name the workspace's domain. */
function linkOf(payload: unknown): string {
  const [domain, channel, ts] = [lineAt(payload, "team.domain"), lineAt(payload, ...CHANNELS), lineAt(payload, ...TS)];
  const isPlain = /^[a-z0-9-]{1,64}$/u.test(domain) && /^[A-Z0-9]{1,32}$/u.test(channel) && /^\d+\.\d+$/u.test(ts);
  return isPlain ? `https://${domain}.slack.com/archives/${channel}/p${ts.replace(".", "")}` : "";
}

const SECRETS: ReadonlySet<string> = new Set(["token", "response_url", "response_urls"]);

/** Without the old verification token and the URLs by which anyone may answer. */
function withoutSecrets(payload: unknown): unknown {
  return Object.fromEntries(entriesOf(payload).filter(([key]) => !SECRETS.has(key)));
}
