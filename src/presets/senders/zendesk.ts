import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { itemLines, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { headline, idLine, lineAt, phrase } from "../message/headline.ts";
import { plainText } from "../message/value-text.ts";
import { unknownEvent } from "../message/unknown-event.ts";

const TYPE_PREFIX = "zen:event-type:";
/** With this every webhook is tested that is not saved yet; Zendesk's documentation shows it. */
const TEST_SECRET = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==";

/**
 * Zendesk events, and what triggers and automations post.
 *
 * Events have a payload of Zendesk's; that of a trigger is written by its owner, and the setup proposes one.
 */
export const zendesk = definePreset({
  name: "zendesk",
  title: "Zendesk",
  documentation: "https://developer.zendesk.com/documentation/webhooks/verifying/",
  auth: {
    scheme: "signature",
    encoding: "base64",
    from: "header:x-zendesk-webhook-signature",
    content: "{timestamp}{body}",
    timestamp: { from: "header:x-zendesk-webhook-signature-timestamp", unit: "iso8601" },
  },
  secret: { label: "Signing secret", madeBy: "sender", minLength: 16, known: [TEST_SECRET] },
  event: ({ payload }) => eventOf(payload),
  eventWhere: "type of the event, or what the trigger calls it",
  deliveryId: {
    from: ({ payload, headers }) => {
      const own = isEvent(payload) ? lineAt(payload, "id") : "";
      return own || lineAt({ ...headers }, "x-zendesk-webhook-invocation-id") || undefined;
    },
    // Only the id of Zendesk's own events is in the body.
    signed: false,
    where: "body:id of events, header:x-zendesk-webhook-invocation-id of triggers",
  },
  sender: senderOf,
  message,
  mapping: { name: "Zendesk", accept: ["json", "form"] },
  success: {
    statuses: "2xx, within 12 seconds",
    otherwise: "409, 429, 503 and timeouts: tries a few times within minutes; stops for a while after many failures",
  },
  ignored: "changes that Zendesk says a trigger or the system made",
  samples: {
    "ticket.comment_added": {
      headers: { "x-zendesk-webhook-invocation-id": "01JEXAMPLE0000000000000001" },
      payload: {
        account_id: 12345678,
        id: "c0000000-0000-4000-8000-000000000001",
        type: "zen:event-type:ticket.comment_added",
        subject: "zen:ticket:118",
        time: "2026-11-20T12:00:00Z",
        zendesk_event_version: "2022-11-06",
        detail: {
          actor_id: "700001",
          id: "118",
          subject: "The printer is on fire",
          description: "Smoke comes out of it.",
          status: "OPEN",
          priority: "HIGH",
          requester_id: "700001",
        },
        event: {
          comment: {
            id: "900001",
            body: "It has stopped burning, but it does not print.",
            is_public: true,
            author: { id: "700001", name: "Ada Lovelace", is_staff: false },
          },
          meta: { sequence: { id: "example", position: 1, total: 1 } },
        },
      },
    },
    "ticket.status_changed": {
      headers: { "x-zendesk-webhook-invocation-id": "01JEXAMPLE0000000000000002" },
      payload: {
        account_id: 12345678,
        id: "c0000000-0000-4000-8000-000000000002",
        type: "zen:event-type:ticket.status_changed",
        subject: "zen:ticket:118",
        time: "2026-11-20T12:05:00Z",
        zendesk_event_version: "2022-11-06",
        detail: { actor_id: "700009", id: "118", subject: "The printer is on fire", status: "SOLVED" },
        event: { current: "SOLVED", previous: "OPEN" },
      },
    },
    trigger: {
      headers: { "x-zendesk-webhook-invocation-id": "01JEXAMPLE0000000000000003" },
      payload: {
        ticket_id: "119",
        title: "Password forgotten",
        status: "New",
        priority: "Normal",
        requester: "Grace Hopper",
        comment: "I cannot log in any more.",
        url: "https://example.zendesk.com/agent/tickets/119",
      },
    },
  },
  setup: [
    "In the Admin Center under Apps and integrations, Actions and webhooks, create a webhook: Zendesk events, or Trigger or automation; paste {url} as Endpoint URL, method POST, format JSON, no authentication.",
    "Save it (a test before that is signed with a published secret), then reveal its {secret} on its page and copy it into hooks.zendesk.secret.",
    'For a trigger add the action Notify active webhook with the body {"ticket_id":"{{ticket.id}}","title":"{{ticket.title}}","status":"{{ticket.status}}","requester":"{{ticket.requester.name}}","comment":"{{ticket.latest_comment}}","url":"{{ticket.link}}"}.',
    "If the agent writes into tickets through the API, put the id of the user it writes as into ignoreActors, or exclude it in the trigger's conditions.",
    "Zendesk tries again within minutes, within the 5 minutes for which a signed time is valid.",
  ],
});

function isEvent(payload: unknown): boolean {
  return textAt(payload, "type").startsWith(TYPE_PREFIX);
}

function eventOf(payload: unknown): string | undefined {
  if (isEvent(payload)) return lineAt(payload, "type").slice(TYPE_PREFIX.length) || undefined;
  return lineAt(payload, "event") || (ticketOf(payload) === "" ? undefined : "trigger");
}

/** The number of the ticket, in the words of the setup's body and of older ones. */
function ticketOf(payload: unknown): string {
  if (isEvent(payload)) return /^zen:(?:messaging_)?ticket:(\w{1,40})$/.exec(lineAt(payload, "subject"))?.[1] ?? "";
  return lineAt(payload, "ticket_id", "ticket.id", "id");
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const id = lineAt(payload, "event.comment.author.id", "event.actor.id", "detail.actor_id", "author_id");
  const name =
    lineAt(payload, "event.comment.author.name", "event.actor.name") ||
    (isEvent(payload) ? "" : lineAt(payload, "author", "requester", "requester.name", "ticket.requester.name")) ||
    id;
  const kind = lineAt(payload, "event.actor.type");
  return eventActor(name, id, kind === "trigger" || kind === "system");
}

function message(context: PresetEvent): string {
  const { payload, event = "" } = context;
  const sender = senderOf(context);
  const ticket = ticketOf(payload);
  const by = phrase("by", sender?.name ?? "");
  if (!isEvent(payload)) {
    if (ticket === "") return unknownEvent("Zendesk", context.event, sender, payload);
    return messageOf(
      headline(`Zendesk ticket #${ticket}`, event === "trigger" ? "" : event, by),
      labeled("Subject", textAt(payload, "title", "subject", "ticket.title", "ticket.subject")),
      labeled("Status", textAt(payload, "status", "ticket.status")),
      labeled("Priority", textAt(payload, "priority", "ticket.priority")),
      plainText(textAt(payload, "comment", "latest_comment", "description", "message", "ticket.description")),
      textAt(payload, "url", "link", "ticket.url", "ticket.link"),
    );
  }
  if (ticket === "") return unknownEvent("Zendesk", context.event, sender, valueAt(payload, "detail"));
  const detail = valueAt(payload, "detail");
  const isPrivate = valueAt(payload, "event.comment.is_public") === false;
  const text = textAt(payload, "event.comment.body", "event.message.body");
  return messageOf(
    headline(`Zendesk ticket #${ticket}`, event.slice(event.indexOf(".") + 1).replaceAll("_", " "), by),
    labeled("Subject", textAt(detail, "subject")),
    labeled("Before", textAt(payload, "event.previous")),
    labeled("Now", textAt(payload, "event.current")),
    labeled(
      "Tags added",
      listAt(payload, "event.tags_added")
        .map((tag) => lineAt(tag, ""))
        .join(", "),
    ),
    labeled("Status", textAt(detail, "status")),
    labeled("Priority", textAt(detail, "priority")),
    isPrivate ? labeled("Internal note", plainText(text)) : plainText(text),
    text === "" && event === "ticket.created" ? textAt(detail, "description") : "",
    itemLines([...listAt(payload, "event.comment.attachments")], (file) =>
      labeled("Attachment", headline(lineAt(file, "filename", "file_name"), textAt(file, "content_url"))),
    ),
    idLine(payload, {
      comment: "event.comment.id",
      requester: "detail.requester_id",
      assignee: "detail.assignee_id",
      author: ["event.comment.author.id", "event.actor.id", "detail.actor_id"],
    }),
  );
}
