import { definePreset } from "../define-preset.ts";
import { authorsAt, eventActor } from "../event-fields.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, EventAuthor, PresetContext, PresetEvent } from "../preset.ts";
import { headline, idLine, lineAt, oneLine, phrase, titled } from "../message/headline.ts";
import { personText, plainText } from "../message/value-text.ts";
import { unknownEvent } from "../message/unknown-event.ts";

/** Topics of an Intercom app: conversations, contacts, tickets. */
export const intercom = definePreset({
  name: "intercom",
  title: "Intercom",
  documentation: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
  auth: { scheme: "signature", algorithm: "hmac-sha1", from: "header:x-hub-signature", prefix: "sha1=" },
  secret: { label: "Client secret", madeBy: "sender", minLength: 16 },
  handshakes: [{ name: "URL check", method: "HEAD", verified: false, reply: { status: 200 } }],
  event: "body:topic",
  deliveryId: { from: "body:id", signed: true },
  sender: senderOf,
  authors: ({ payload }) => authorsOf(valueAt(payload, "data.item")),
  vouchesForActors: true,
  roles: { admin: "trusted" },
  skip: ({ event }) => (event === "ping" ? "Intercom checks the URL" : undefined),
  message,
  mapping: { name: "Intercom" },
  success: {
    statuses: "2xx, within 5 seconds",
    otherwise:
      "tries once more after a minute; 410 disables the topic, 429 delays; 1,000 errors in a row pause it for 15 minutes, errors for 7 days suspend it for a private app",
  },
  ignored: "events of authors that Intercom marks as bots or AI agents, pings",
  samples: {
    "conversation.user.created": {
      payload: {
        type: "notification_event",
        topic: "conversation.user.created",
        id: "notif_00000000-0000-4000-8000-000000000001",
        app_id: "a0example",
        created_at: 1795176000,
        delivery_attempts: 1,
        data: {
          type: "notification_event_data",
          item: {
            type: "conversation",
            id: "9000001",
            state: "open",
            source: {
              type: "conversation",
              id: "8000001",
              subject: "",
              body: "<p>Hello, my invoice is wrong.<br>Can you look &amp; correct it?</p>",
              author: { type: "user", id: "700001", name: "Ada Lovelace", email: "ada@example.com" },
            },
            links: { conversation_web: "https://app.example.com/a/inbox/conversation/9000001" },
          },
        },
      },
    },
    "conversation.user.replied": {
      payload: {
        type: "notification_event",
        topic: "conversation.user.replied",
        id: "notif_00000000-0000-4000-8000-000000000002",
        app_id: "a0example",
        created_at: 1795176060,
        data: {
          type: "notification_event_data",
          item: {
            type: "conversation",
            id: "9000001",
            source: { body: "<p>Hello</p>", author: { type: "user", id: "700001", name: "Ada Lovelace" } },
            conversation_parts: {
              type: "conversation_part.list",
              conversation_parts: [
                {
                  type: "conversation_part",
                  id: "8000002",
                  part_type: "comment",
                  body: "<p>It is number 2026-118.</p>",
                  author: { type: "user", id: "700001", name: "Ada Lovelace", email: "ada@example.com" },
                },
              ],
            },
          },
        },
      },
    },
    "conversation.admin.replied": {
      payload: {
        type: "notification_event",
        topic: "conversation.admin.replied",
        id: "notif_00000000-0000-4000-8000-000000000003",
        app_id: "a0example",
        data: {
          type: "notification_event_data",
          item: {
            type: "conversation",
            id: "9000001",
            conversation_parts: {
              conversation_parts: [
                {
                  part_type: "comment",
                  body: "<p>I have corrected it.</p>",
                  author: { type: "bot", id: "600001", name: "Helper" },
                },
              ],
            },
          },
        },
      },
    },
    "contact.user.created": {
      payload: {
        type: "notification_event",
        topic: "contact.user.created",
        id: "notif_00000000-0000-4000-8000-000000000004",
        app_id: "a0example",
        data: {
          type: "notification_event_data",
          item: { type: "contact", id: "700002", role: "user", name: "Grace Hopper", email: "grace@example.com" },
        },
      },
    },
    ping: {
      payload: {
        type: "notification_event",
        topic: "ping",
        id: "notif_00000000-0000-4000-8000-000000000005",
        app_id: "a0example",
        data: { type: "notification_event_data", item: { type: "ping", message: "The URL can be reached." } },
      },
    },
  },
  setup: [
    "At developers.intercom.com under Your apps choose the app; under Basic information copy the {secret} into hooks.intercom.secret.",
    "Start the gateway, then under Configure, Webhooks paste {url} as Endpoint URL (Intercom checks it with a HEAD request).",
    "Choose the topics, such as conversation.user.created and conversation.user.replied, and save.",
    "If the agent answers through the API, put the id of the teammate it answers as into ignoreActors.",
  ],
});

const PARTS = ["conversation_parts.conversation_parts", "ticket_parts.ticket_parts", "ticket_part"];

/** The newest part of a conversation or ticket; a new one has none yet. */
function partOf(item: unknown): unknown {
  for (const path of PARTS) {
    const last = listAt(item, path).at(-1);
    if (last !== undefined) return last;
  }
  return valueAt(item, "ticket_part") ?? valueAt(item, "conversation_part");
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const item = valueAt(payload, "data.item");
  const author = [
    valueAt(partOf(item), "author"),
    valueAt(item, "source.author"),
    valueAt(item, "contact"),
    valueAt(item, "user"),
    isPerson(item) ? item : undefined,
  ].find((who) => lineAt(who, "name", "email", "id") !== "");
  const id = lineAt(author, "id");
  const name = lineAt(author, "name", "email") || id;
  const bot = textAt(author, "type") === "bot" || valueAt(author, "from_ai_agent") === true;
  const actor = eventActor(name, id, bot);
  const role = lineAt(author, "type");
  return actor && (role === "" ? actor : { ...actor, role });
}

/** A conversation comes with its first message, a ticket with what the contact wrote into it. */
function authorsOf(item: unknown): readonly EventAuthor[] {
  const isTicket = textAt(item, "type") === "ticket";
  const contact = valueAt(item, "contacts.contacts[0].id") === undefined ? "contact" : "contacts.contacts[0]";
  return authorsAt(item, [
    { id: "source.author.id", role: "source.author.type" },
    ...(isTicket ? [{ id: `${contact}.id`, role: `${contact}.type` }] : []),
  ]);
}

/** `Ada Lovelace <ada@example.com>`; the mail to which an answer goes. */
function authorOf(part: unknown, item: unknown): string {
  const author = valueAt(part, "author") ?? valueAt(item, "source.author");
  const address = lineAt(author, "email");
  return address === "" ? "" : personText(lineAt(author, "name"), address);
}

function attachmentLine(file: unknown): string {
  return labeled("Attachment", headline(lineAt(file, "name"), textAt(file, "url")));
}

const APP_ID = /^[\w-]{1,64}$/u;

/** The address that Intercom gives, or the conversation's in the inbox of the app. */
function linkOf(payload: unknown, item: unknown): string {
  const own = textAt(item, "links.conversation_web");
  const [app, id] = [lineAt(payload, "app_id"), lineAt(item, "id")];
  if (own !== "" || lineAt(item, "type") !== "conversation" || !APP_ID.test(app) || !APP_ID.test(id)) return own;
  return `https://app.intercom.com/a/apps/${app}/conversations/${id}`;
}

function isPerson(item: unknown): boolean {
  return ["contact", "user", "lead", "visitor"].includes(textAt(item, "type"));
}

function message(context: PresetEvent): string {
  const { payload, event } = context;
  const item = valueAt(payload, "data.item");
  const what = titled("Intercom", oneLine(event ?? ""));
  const sender = senderOf(context);
  const part = partOf(item);
  const text = plainText(
    textAt(part, "body") || textAt(item, "source.body", "ticket_attributes._default_description_"),
  );
  const subject = plainText(textAt(item, "source.subject", "ticket_attributes._default_title_", "title"));
  const kind = textAt(item, "type");
  if (kind === "conversation" || kind === "ticket" || text !== "") {
    return messageOf(
      headline(what, phrase("by", sender?.name ?? "")),
      labeled("Subject", subject),
      text,
      labeled(kind === "ticket" ? "Ticket" : "Conversation", textAt(item, "id", "ticket_id")),
      labeled("State", textAt(item, "ticket_state", "state")),
      labeled("Author", authorOf(part, item)),
      itemLines([...listAt(part ?? valueAt(item, "source"), "attachments")], attachmentLine),
      idLine(payload, { app: "app_id", contact: ["data.item.contacts.contacts[0].id", "data.item.contact.id"] }),
      linkOf(payload, item),
    );
  }
  if (isPerson(item)) {
    return messageOf(
      what,
      joinText(", ", lineAt(item, "name"), lineAt(item, "email"), lineAt(item, "phone")),
      labeled("Contact", textAt(item, "id")),
    );
  }
  return unknownEvent("Intercom", event, sender, item ?? valueAt(payload, "data"));
}
