import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor, ownActor } from "../event-fields.ts";
import type { EventActor, PresetContext, PresetEvent, PresetSample } from "../preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { bodyAt, headline, idLine, lineAt, phrase, titled, words } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";

const broadcaster = {
  broadcaster_user_id: "1337",
  broadcaster_user_login: "acme_live",
  broadcaster_user_name: "Acme_Live",
};

/** EventSub of Twitch by webhook; the challenge that proves the URL is answered when it is signed. */
export const twitch = definePreset({
  name: "twitch",
  title: "Twitch EventSub",
  documentation: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
  auth: {
    scheme: "signature",
    from: "header:twitch-eventsub-message-signature",
    prefix: "sha256=",
    id: "header:twitch-eventsub-message-id",
    timestamp: { from: "header:twitch-eventsub-message-timestamp", unit: "iso8601", toleranceSeconds: 600 },
    content: "{id}{timestamp}{body}",
  },
  secret: { label: "transport.secret", madeBy: "owner" },
  handshakes: [
    {
      name: "webhook_callback_verification",
      verified: true,
      when: { "body:challenge": true, "body:subscription.status": "webhook_callback_verification_pending" },
      reply: { status: 200, text: "{body:challenge}" },
    },
  ],
  event: eventOf,
  eventWhere: "body:subscription.type, or revocation",
  deliveryId: { from: "header:twitch-eventsub-message-id", signed: true },
  sender: senderOf,
  success: {
    statuses: "2xx, within a few seconds",
    otherwise: "tries again, and revokes the subscription after too many failures",
  },
  ignored:
    "chat messages of the account that reads the chat, unless it is the channel's own. Twitch marks no other bots",
  mapping: { name: "Twitch" },
  message,
  samples: {
    "channel.follow": sample("channel.follow", "2", {
      user_id: "1234",
      user_login: "cool_user",
      user_name: "Cool_User",
      ...broadcaster,
      followed_at: "2026-11-20T11:59:58.171063Z",
    }),
    "channel.chat.message": sample("channel.chat.message", "1", {
      ...broadcaster,
      chatter_user_id: "4145994",
      chatter_user_login: "viptest",
      chatter_user_name: "VipTest",
      message_id: "cc106a89-1814-919d-454c-f4f2f970aae7",
      message: { text: "When is the next stream?", fragments: [{ type: "text", text: "When is the next stream?" }] },
      color: "#00FF7F",
      badges: [],
      message_type: "text",
      reply: null,
      channel_points_custom_reward_id: null,
    }),
    "stream.online": sample("stream.online", "1", {
      id: "9001",
      ...broadcaster,
      type: "live",
      started_at: "2026-11-20T11:59:50Z",
    }),
    revocation: {
      headers: headersOf("revocation", "channel.follow"),
      payload: {
        subscription: {
          ...subscriptionOf("channel.follow", "2"),
          status: "authorization_revoked",
        },
      },
    },
  },
  setup: [
    "Make up the {secret} (10 to 100 ASCII characters, for example with openssl rand -hex 32) and set it as hooks.twitch.secret.",
    'Subscribe with an app access token: POST https://api.twitch.tv/helix/eventsub/subscriptions with {"type":"channel.follow","version":"2","condition":{...},"transport":{"method":"webhook","callback":"{url}","secret":"<the same>"}}. {url} must be on port 443.',
    "Twitch posts a challenge at once, which the gateway answers; the subscription is then enabled. Subscribe once for each event.",
  ],
});

function headersOf(kind: string, type: string): Readonly<Record<string, string>> {
  return {
    "twitch-eventsub-message-id": `${kind}-${type}-e76c6bd4-55c9-4987-8304-da1588d8988b`,
    "twitch-eventsub-message-type": kind,
    "twitch-eventsub-message-retry": "0",
  };
}

function subscriptionOf(type: string, version: string) {
  return {
    id: "f1c2a387-161a-49f9-a165-0f21d7a4e1c4",
    type,
    version,
    status: "enabled",
    cost: 0,
    condition: { broadcaster_user_id: "1337" },
    transport: { method: "webhook", callback: "https://gateway.example.com/hooks/twitch" },
    created_at: "2026-11-01T10:11:12.634234626Z",
  };
}

function sample(type: string, version: string, event: object): PresetSample {
  return {
    headers: headersOf("notification", type),
    payload: { subscription: subscriptionOf(type, version), event },
  };
}

/** By the body, which is signed; the header with the kind of message is not. */
function eventOf({ payload }: PresetContext): string | undefined {
  if (isRevoked(payload)) return "revocation";
  return lineAt(payload, "subscription.type") || undefined;
}

function isRevoked(payload: unknown): boolean {
  const isEvent = valueAt(payload, "event") !== undefined || valueAt(payload, "events") !== undefined;
  return !isEvent && !["", "enabled"].includes(lineAt(payload, "subscription.status"));
}

const PEOPLE = ["user", "chatter_user", "from_user", "from_broadcaster_user", "moderator_user", "broadcaster_user"];

function senderOf({ payload }: PresetContext): EventActor | undefined {
  // Without the person's name only the channel's owner is named, who has done nothing.
  if (["is_anonymous", "chatter_is_anonymous"].some((mark) => valueAt(payload, `event.${mark}`) === true))
    return undefined;
  const person = PEOPLE.find((each) => lineAt(payload, `event.${each}_name`) !== "");
  if (person === undefined) return undefined;
  const [name, id] = [lineAt(payload, `event.${person}_name`), lineAt(payload, `event.${person}_id`)];
  return isOwnBot(payload, id) ? ownActor(name, id) : eventActor(name, id);
}

/** True for the account that reads the chat, unless it is that of the channel's owner, who may write by hand. */
function isOwnBot(payload: unknown, id: string): boolean {
  const isChat = lineAt(payload, "subscription.type").startsWith("channel.chat.");
  const reader = lineAt(payload, "subscription.condition.user_id");
  return isChat && id !== "" && id === reader && id !== lineAt(payload, "subscription.condition.broadcaster_user_id");
}

function message(context: PresetEvent): string {
  const { payload } = context;
  const type = lineAt(payload, "subscription.type");
  if (type === "") return unknownEvent("Twitch", context.event, senderOf(context), payload);
  const ids = {
    subscription: "subscription.id",
    message: "event.message_id",
    broadcaster: "event.broadcaster_user_id",
  };
  if (isRevoked(payload)) {
    return messageOf(
      titled(`Twitch revoked the subscription to ${type}`, words(lineAt(payload, "subscription.status"))),
      dataLines(valueAt(payload, "subscription.condition")),
      idLine(payload, ids),
      "No more of these events come until it is made again.",
    );
  }
  const by = senderOf(context)?.name ?? "";
  const channel = lineAt(payload, "event.broadcaster_user_name", "event.to_broadcaster_user_name");
  const login = lineAt(payload, "event.broadcaster_user_login", "event.to_broadcaster_user_login");
  const text = bodyAt(payload, "event.message.text", "event.user_input", "event.message", "event.whisper.text");
  // Some events come in batches.
  const data = valueAt(payload, "event") ?? valueAt(payload, "events");
  return messageOf(
    headline("Twitch:", words(type), phrase("by", by), phrase("in the channel of", channel === by ? "" : channel)),
    text,
    text === "" ? dataLines(withoutNames(data)) : labeled("Bits", textAt(payload, "event.bits")),
    login === "" ? "" : `https://www.twitch.tv/${login}`,
    idLine(payload, { ...ids, user: ["event.user_id", "event.chatter_user_id", "event.from_user_id"] }),
  );
}

/** The event without the names and ids that the headline and the last line say. */
function withoutNames(event: unknown): unknown {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return event;
  return Object.fromEntries(
    Object.entries(event).filter(([key]) => !/^(?:user|chatter_user|broadcaster_user)_(?:id|login|name)$/.test(key)),
  );
}
