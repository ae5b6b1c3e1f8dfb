import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { batchEvent, batchId } from "../event-fields.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { capitalized, headline, idLine, lineAt, phrase, words } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";

const user = { type: "user", userId: "U4af4980629a1c0d2e3f4a5b6c7d8e9f0" };
const group = { type: "group", groupId: "Ca56f94637c1d2e3f4a5b6c7d8e9f0a1b", userId: user.userId };

/** Messages and events of a LINE official account; one call may carry several, or none when LINE checks the URL. */
export const line = definePreset({
  name: "line",
  title: "LINE",
  text: "plain",
  documentation: "https://developers.line.biz/en/docs/messaging-api/receiving-messages/",
  auth: { scheme: "signature", from: "header:x-line-signature", encoding: "base64" },
  secret: { label: "Channel secret", madeBy: "sender", minLength: 16 },
  event: ({ payload }) => batchEvent(listAt(payload, "events").map(nameOf)),
  eventWhere: "the types in body:events, such as message.text",
  deliveryId: {
    from: ({ payload }) => batchId(listAt(payload, "events").map((event) => lineAt(event, "webhookEventId"))),
    where: "webhookEventId of body:events",
    signed: true,
  },
  sender: senderOf,
  vouchesForActors: true,
  skip: ({ payload }) => (listAt(payload, "events").length === 0 ? "LINE checks the URL" : undefined),
  success: { statuses: "200", otherwise: "tries again when redelivery is on, and may stop sending after a long time" },
  ignored: "checks of the URL. LINE marks no bots",
  mapping: { name: "LINE", maxBodyBytes: 1_048_576 },
  message,
  samples: {
    "message.text": {
      payload: {
        destination: "Ub9952f8d1c2d3e4f5a6b7c8d9e0f1a2b",
        events: [
          {
            type: "message",
            message: {
              type: "text",
              id: "508924323532806589",
              quoteToken: "q3Plxr4AgKd4dK",
              quotedMessageId: "508924323532806001",
              text: "Is the shop open tomorrow?",
            },
            webhookEventId: "01J9XK3V7M2NTPA4V6Q8R0S1T2",
            deliveryContext: { isRedelivery: false },
            timestamp: 1_795_175_998_000,
            source: group,
            replyToken: "nHuyWiB7yP5Zw52FIkcQobQuGDXCTA",
            mode: "active",
          },
        ],
      },
    },
    postback: {
      payload: {
        destination: "Ub9952f8d1c2d3e4f5a6b7c8d9e0f1a2b",
        events: [
          {
            type: "postback",
            postback: { data: "action=book&item=111", params: { datetime: "2026-12-25T01:00" } },
            webhookEventId: "01J9XK3V7M2NTPA4V6Q8R0S1T3",
            deliveryContext: { isRedelivery: true },
            timestamp: 1_795_175_999_000,
            source: user,
            replyToken: "b60d432864f44d079f6d8efe86cf404b",
            mode: "active",
          },
          {
            type: "follow",
            follow: { isUnblocked: false },
            webhookEventId: "01J9XK3V7M2NTPA4V6Q8R0S1T4",
            deliveryContext: { isRedelivery: false },
            timestamp: 1_795_175_999_500,
            source: user,
            replyToken: "85cbe770fa8b4f45bbe077b1d4be4a36",
            mode: "active",
          },
        ],
      },
    },
    check: { payload: { destination: "Ub9952f8d1c2d3e4f5a6b7c8d9e0f1a2b", events: [] } },
  },
  setup: [
    "In the LINE Developers Console open the channel, Basic settings, and copy the {secret} into hooks.line.secret.",
    "On the tab Messaging API set {url} as the Webhook URL, choose Verify, and turn on Use webhook and Webhook redelivery.",
    "Turn off the auto-reply messages of the account in LINE Official Account Manager, or it answers beside the agent.",
  ],
});

function message({ payload, event }: PresetEvent): string {
  const events = listAt(payload, "events");
  if (events.length === 0) return unknownEvent("LINE", event, undefined, payload);
  return messageOf(itemLines(events, (each) => linesOf(each).join("\n")));
}

function nameOf(event: unknown): string {
  return joinText(".", lineAt(event, "type"), lineAt(event, "message.type"));
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const users = new Set(listAt(payload, "events").map((event) => lineAt(event, "source.userId")));
  const [id = ""] = users;
  return users.size === 1 && id !== "" ? { name: id, id, bot: false } : undefined;
}

function linesOf(event: unknown): readonly string[] {
  const type = lineAt(event, "type");
  const kind = lineAt(event, "message.type");
  const where = lineAt(event, "source.groupId", "source.roomId");
  const known = kind !== "" || Object.hasOwn(DETAILS, type);
  return [
    headline(
      "LINE:",
      headline(kind === "text" ? "" : words(kind), words(type)) || "an event",
      phrase("from", lineAt(event, "source.userId")),
      phrase("in", where === "" ? "" : headline(lineAt(event, "source.type"), where)),
    ),
    textAt(event, "message.text"),
    labeled("File", lineAt(event, "message.fileName")),
    labeled("Place", joinText(", ", ...PLACE.map((path) => lineAt(event, path)))),
    labeled("Sticker", joinText(" ", lineAt(event, "message.packageId"), lineAt(event, "message.stickerId"))),
    known ? labeled(capitalized(words(type)), asJson(valueAt(event, DETAILS[type] ?? "none"))) : asJson(event),
    idLine(event, {
      message: "message.id",
      "quoted message": "message.quotedMessageId",
      "quote token": "message.quoteToken",
      "reply token": "replyToken",
    }),
    valueAt(event, "mode") === "standby" ? "Another service answers this chat now (standby)." : "",
    valueAt(event, "deliveryContext.isRedelivery") === true ? "LINE sent this again: it may have been handled." : "",
  ].filter((text) => text !== "");
}

const PLACE = ["message.title", "message.address", "message.latitude", "message.longitude"];

/** The key of each event that holds its details; `none` for events that say all by their type. */
const DETAILS: Readonly<Record<string, string>> = {
  postback: "postback",
  follow: "none",
  unfollow: "none",
  join: "none",
  leave: "none",
  memberJoined: "joined.members",
  memberLeft: "left.members",
  unsend: "unsend",
  videoPlayComplete: "videoPlayComplete",
  beacon: "beacon",
  accountLink: "link.result",
  membership: "membership",
};
