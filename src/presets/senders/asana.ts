import { definePreset } from "../define-preset.ts";
import { batchEvent } from "../event-fields.ts";
import { itemLines, joinText, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { capitalized, headline, lineAt, phrase, titled } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

const MAX_EVENTS = 1_000;
const GID = /^\d{1,32}$/;
/** Kinds of resource that open by their id alone. */
const LINKED: ReadonlySet<string> = new Set(["task", "project"]);

/** Changes of tasks, projects and stories of Asana; they name what changed and leave the content to be fetched. */
export const asana = definePreset({
  name: "asana",
  title: "Asana",
  documentation: "https://developers.asana.com/docs/webhooks-guide",
  auth: { scheme: "signature", from: "header:x-hook-signature", encoding: "hex", content: "{body}" },
  secret: {
    label: "X-Hook-Secret",
    required: false,
    madeBy: "sender",
    minLength: 32,
    known: ["b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81"],
  },
  handshakes: [
    // Its body is empty, or an empty object.
    {
      name: "X-Hook-Secret",
      verified: false,
      when: { "header:x-hook-secret": true, "header:x-hook-signature": false },
      onlyKeys: [],
      reply: { status: 200, headers: { "X-Hook-Secret": "{header:x-hook-secret}" } },
      effect: { keyFrom: "header:x-hook-secret" },
    },
    {
      name: "heartbeat",
      verified: true,
      when: { "body:events": { empty: true } },
      onlyKeys: ["events"],
      reply: { status: 200 },
    },
  ],
  event: ({ payload }) =>
    batchEvent(eventsOf(payload).map((event) => joinText(".", kindOf(event), lineAt(event, "action")))),
  eventWhere: "type and action of every event",
  sender: senderOf,
  vouchesForActors: true,
  // Asana takes 200 and 204 for an answer.
  answer: { status: 200 },
  message,
  mapping: { name: "Asana", links: ["app.asana.com"], maxBodyBytes: 1_048_576 },
  success: { statuses: "200 or 204", otherwise: "tries again for 24 hours, then deletes the webhook" },
  ignored: "heartbeats. Asana marks no bots",
  samples: {
    "task.changed": {
      payload: {
        events: [
          {
            user: { gid: "1200000000000001", resource_type: "user" },
            created_at: "2026-11-20T11:59:00.000Z",
            action: "changed",
            resource: { gid: "1200000000000100", resource_type: "task", resource_subtype: "default_task" },
            parent: null,
            change: { field: "due_on", action: "changed" },
          },
        ],
      },
    },
    "task.added": {
      payload: {
        events: [
          {
            user: { gid: "1200000000000002", resource_type: "user" },
            created_at: "2026-11-20T11:59:10.000Z",
            action: "added",
            resource: { gid: "1200000000000101", resource_type: "task", resource_subtype: "default_task" },
            parent: { gid: "1200000000000010", resource_type: "project" },
          },
          {
            user: { gid: "1200000000000002", resource_type: "user" },
            created_at: "2026-11-20T11:59:10.000Z",
            action: "added",
            resource: { gid: "1200000000000200", resource_type: "story", resource_subtype: "comment_added" },
            parent: { gid: "1200000000000101", resource_type: "task" },
          },
        ],
      },
    },
  },
  setup: [
    "Turn the route on without a secret first, so that it can take the X-Hook-Secret that Asana sends.",
    "Each webhook of Asana has a secret of its own and needs a path of its own: for a second project add hooks.senders.<name> with preset asana, and give that webhook the target that ends in its name.",
    "Create the webhook by Asana's API: POST https://app.asana.com/api/1.0/webhooks with resource (the id of a project) and target {url}.",
    "Asana delivers the {secret} at once to the gateway, which keeps it; add filters, such as task changed due_on, to receive fewer events.",
  ],
});

function eventsOf(payload: unknown): readonly unknown[] {
  return listAt(payload, "events").slice(0, MAX_EVENTS);
}

function kindOf(event: unknown): string {
  return lineAt(event, "resource.resource_type", "type");
}

/** The one user behind all events; Asana marks no bots. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const users = new Set(eventsOf(payload).map((event) => lineAt(event, "user.gid")));
  const [user = ""] = users;
  return users.size === 1 && user !== "" ? { name: user, id: user, bot: false } : undefined;
}

function message({ payload, event }: PresetEvent): string {
  const events = eventsOf(payload).filter((event) => joinText("", kindOf(event), lineAt(event, "action")) !== "");
  if (events.length === 0) return genericMessage({ title: "Asana", event, object: payload });
  return messageOf(events.length > 1 ? `${events.length} changes in Asana:` : "", itemLines(events, changeLine));
}

/** `Task 12 was changed: due on (by user 7, 2026-11-20 12:00 UTC)` and its link. */
function changeLine(event: unknown): string {
  const kind = kindOf(event);
  const id = lineAt(event, "resource.gid");
  const place = headline(words(textAt(event, "parent.resource_type")), lineAt(event, "parent.gid"));
  const said = headline(
    capitalized(words(kind)),
    id,
    happened(lineAt(event, "action")),
    phrase(lineAt(event, "action") === "removed" ? "from" : "in", place),
  );
  const details = joinText(
    ", ",
    words(textAt(event, "change.field")),
    kind === "story" ? words(textAt(event, "resource.resource_subtype")) : "",
  );
  const who = joinText(", ", phrase("by user", lineAt(event, "user.gid")), timeText(valueAt(event, "created_at")));
  // A story has no page of its own: its task has.
  const link = linkOf(kind, id) || linkOf(lineAt(event, "parent.resource_type"), lineAt(event, "parent.gid"));
  return headline(titled(said, details), who === "" ? "" : `(${who})`, link);
}

function linkOf(kind: string, id: string): string {
  return LINKED.has(kind) && GID.test(id) ? `https://app.asana.com/0/0/${id}` : "";
}
