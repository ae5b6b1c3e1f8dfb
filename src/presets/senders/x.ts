import { definePreset } from "../define-preset.ts";
import { authorsAt, eventActor, ownActor } from "../event-fields.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt, memberOf } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { headline, idLine, lineAt, phrase } from "../message/headline.ts";
import { decodeEntities } from "../message/value-text.ts";
import { unknownEvent } from "../message/unknown-event.ts";

/** Events of both APIs that say nothing an agent could act on. */
const QUIET: Readonly<Record<string, string>> = {
  direct_message_indicate_typing: "someone is typing",
  direct_message_mark_read: "a read receipt",
  "dm.indicate_typing": "someone is typing",
  "dm.read": "a read receipt",
};

/** Events of an account (Account Activity API, X Activity API) and posts of a filtered stream on X. */
export const x = definePreset({
  name: "x",
  title: "X",
  documentation: "https://docs.x.com/x-api/webhooks/quickstart",
  auth: {
    scheme: "signature",
    from: "header:x-twitter-webhooks-signature",
    prefix: "sha256=",
    encoding: "base64",
  },
  secret: { label: "API Key Secret (consumer secret)", madeBy: "sender", minLength: 16 },
  handshakes: [
    {
      name: "CRC",
      method: "GET",
      verified: false,
      when: { "query:crc_token": true },
      onlyKeys: ["crc_token", "nonce"],
      computed: { token: { algorithm: "hmac-sha256", encoding: "base64", of: "{query:crc_token}" } },
      reply: { status: 200, json: { response_token: "sha256={computed:token}" } },
    },
  ],
  event: ({ payload }) => eventOf(payload),
  eventWhere: "the name of the list of events, or of the object",
  deliveryId: { from: deliveryIdOf, signed: true, where: "the id of the event, when the payload holds only one" },
  sender: senderOf,
  authors: ({ payload }) => itemsOf(payload).flatMap((item) => authorsAt(item, OTHERS)),
  vouchesForActors: true,
  skip({ event }) {
    if (event === undefined) return "there is no event in it";
    return Object.hasOwn(QUIET, event) ? QUIET[event] : undefined;
  },
  answer: { status: 200 },
  message,
  mapping: { name: "X" },
  success: {
    statuses: "200, within 10 seconds",
    otherwise: "tries again for a few minutes; a failed CRC ends the events",
  },
  ignored: "what the subscribed account does itself, reads and typing",
  samples: {
    tweet_create: {
      payload: {
        for_user_id: "2000000001",
        tweet_create_events: [
          {
            created_at: "Fri Nov 20 12:00:00 +0000 2026",
            id: 1900000000000000000,
            id_str: "1900000000000000001",
            text: "@example_agent when is 2.4 out? &lt;3",
            in_reply_to_screen_name: "example_agent",
            user: { id_str: "2000000002", name: "Ada Lovelace", screen_name: "ada_example" },
          },
        ],
      },
    },
    direct_message: {
      payload: {
        for_user_id: "2000000001",
        direct_message_events: [
          {
            type: "message_create",
            id: "1900000000000000002",
            created_timestamp: "1795176000123",
            message_create: {
              target: { recipient_id: "2000000001" },
              sender_id: "2000000003",
              message_data: { text: "May I ask you something?" },
            },
          },
        ],
        users: {
          "2000000001": { id: "2000000001", name: "Agent", screen_name: "example_agent" },
          "2000000003": { id: "2000000003", name: "Grace Hopper", screen_name: "grace_example" },
        },
      },
    },
    follow: {
      payload: {
        for_user_id: "2000000001",
        follow_events: [
          {
            type: "follow",
            created_timestamp: "1795176060123",
            target: { id: "2000000001", name: "Agent", screen_name: "example_agent" },
            source: { id: "2000000002", name: "Ada Lovelace", screen_name: "ada_example" },
          },
        ],
      },
    },
    direct_message_indicate_typing: {
      payload: {
        for_user_id: "2000000001",
        direct_message_indicate_typing_events: [
          { created_timestamp: "1795176000123", sender_id: "2000000003", target: { recipient_id: "2000000001" } },
        ],
      },
    },
    filtered_stream: {
      payload: {
        data: { id: "1900000000000000004", text: "Trying the new release.", author_id: "2000000002" },
        includes: { users: [{ id: "2000000002", name: "Ada Lovelace", username: "ada_example" }] },
        matching_rules: [{ id: "1", tag: "our product" }],
      },
    },
  },
  setup: [
    "At developer.x.com choose the app; under Keys and tokens copy the {secret} into hooks.x.secret, and start the gateway.",
    "Register {url} with POST https://api.x.com/2/webhooks: X checks it at once and every hour; the URL may have no port.",
    "Subscribe the account with POST /2/account_activity/webhooks/<webhook id>/subscriptions/all.",
    "What the subscribed account does itself wakes no agent unless ignoreBots is false, since the agent may have done it.",
  ],
});

/** Whose post is shared or liked. */
const OTHERS = ["retweeted_status", "favorited_status"].map((at) => ({ id: `${at}.user.id_str` }));

const SUFFIX = "_events";

/** The list of a payload that names its kind: `tweet_create_events`. */
function listKeyOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null) return undefined;
  return Object.keys(payload).find((key) => key.endsWith(SUFFIX) && Array.isArray(memberOf(payload, key)));
}

/** The kind of an event of the X Activity API, such as `profile.update.bio`; empty for any other payload. */
function activityOf(payload: unknown): string {
  return lineAt(payload, "data.event_type");
}

/** Direct messages of the X Activity API come in the form of the Account Activity API. */
function itemsOf(payload: unknown): readonly unknown[] {
  const key = listKeyOf(payload);
  if (key !== undefined) return memberOf(payload, key) as readonly unknown[];
  if (activityOf(payload) !== "") {
    const activity = valueAt(payload, "data.payload") ?? valueAt(payload, "data");
    return listKeyOf(activity) === undefined ? [activity] : itemsOf(activity);
  }
  return valueAt(payload, "data.id") === undefined ? [] : [valueAt(payload, "data")];
}

function eventOf(payload: unknown): string | undefined {
  const key = listKeyOf(payload)?.slice(0, -SUFFIX.length);
  if (key !== undefined) return key || undefined;
  if (activityOf(payload) !== "") return activityOf(payload);
  if (valueAt(payload, "data.id") !== undefined) return "filtered_stream";
  return valueAt(payload, "user_event.revoke") === undefined ? undefined : "revoke";
}

function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const [only, ...more] = itemsOf(payload);
  if (only === undefined || more.length > 0) return undefined;
  const id = lineAt(only, "id_str", "id") || lineAt(payload, "data.event_uuid");
  const time = lineAt(only, "created_timestamp", "timestamp_ms");
  if (id === "" && time === "") return undefined;
  return joinText(":", eventOf(payload) ?? "", id, id === "" ? joinText(":", authorIdOf(only), time) : "");
}

function authorIdOf(item: unknown): string {
  return lineAt(
    item,
    "user.id_str",
    "message_create.sender_id",
    "source.id",
    "sender_id",
    "author_id",
    "user.id",
    "status.user_id",
  );
}

function senderNamed(payload: unknown, item: unknown): EventActor | undefined {
  const id = authorIdOf(item);
  const users = [...listAt(payload, "includes.users"), ...listAt(payload, "data.includes.users")];
  const author = users.find((user) => id !== "" && lineAt(user, "id") === id);
  const known = memberOf(valueAt(payload, "users") ?? valueAt(payload, "data.payload.users"), id) ?? author;
  const name =
    lineAt(item, "user.screen_name", "source.screen_name") ||
    lineAt(known, "screen_name", "username", "data.username") ||
    id;
  // Of the Activity API only messages are the subscribed account's own for sure: it also watches the posts of anyone.
  const account = /^(?:dm|chat)\./u.test(activityOf(payload)) ? "data.filter.user_id" : "for_user_id";
  return id !== "" && id === lineAt(payload, account) ? ownActor(name, id) : eventActor(name, id);
}

/** Several events have a sender only if it is the same. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const [first, ...more] = itemsOf(payload);
  const sender = senderNamed(payload, first);
  return sender === undefined || more.some((item) => authorIdOf(item) !== authorIdOf(first)) ? undefined : sender;
}

const WORDS: Readonly<Record<string, string>> = {
  tweet_create: "X post",
  direct_message: "X direct message",
  follow: "X follow",
  unfollow: "X unfollow",
  favorite: "X like",
  tweet_delete: "X post deleted",
  filtered_stream: "X post of the filtered stream",
  "post.create": "X post",
  "post.mention.create": "X post",
  "dm.received": "X direct message",
  "dm.sent": "X direct message",
};

function message(context: PresetEvent): string {
  const { payload, event = "" } = context;
  const items = itemsOf(payload);
  if (items.length === 0 || !Object.hasOwn(WORDS, event)) {
    const tag = labeled("Rule", lineAt(payload, "data.tag"));
    return messageOf(
      unknownEvent("X", context.event, senderOf(context), items.length === 1 ? items[0] : payload),
      activityOf(payload) === "" ? "" : joinText("\n", tag, idLine(payload, { account: "data.filter.user_id" })),
    );
  }
  const tags = listAt(payload, "matching_rules").map((rule) => textAt(rule, "tag", "id"));
  const rules = joinText(", ", ...tags, lineAt(payload, "data.tag"));
  return messageOf(
    itemLines(items, (item) => itemText(WORDS[event]!, payload, item)),
    labeled("Rule", rules),
  );
}

function itemText(what: string, payload: unknown, item: unknown): string {
  const by = senderNamed(payload, item)?.name ?? "";
  const name = lineAt(item, "user.name", "source.name");
  const about = textAt(
    item,
    "extended_tweet.full_text",
    "note_tweet.text",
    "full_text",
    "text",
    "message_create.message_data.text",
    "favorited_status.text",
  );
  return messageOf(
    headline(what, phrase("by", by && (name === "" ? `@${by}` : `${name} (@${by})`)), phrase("of", targetOf(item))),
    decodeEntities(about),
    linkOf(by, item),
  );
}

function targetOf(item: unknown): string {
  const name = lineAt(item, "target.screen_name");
  return name === "" ? "" : `@${name}`;
}

function linkOf(name: string, item: unknown): string {
  const id = lineAt(item, "id_str") || lineAt(item, "id");
  const isPost = valueAt(item, "text") !== undefined && /^\w{1,30}$/.test(name) && /^\d{1,30}$/.test(id);
  return isPost ? `https://x.com/${name}/status/${id}` : "";
}
