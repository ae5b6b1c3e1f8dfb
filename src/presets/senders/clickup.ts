import { clip, itemLines, joinText, labeled, listAt, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { bodyAt, capitalized, headline, idLine, lineAt, phrase, words } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";

const MAX_VALUE = 300;

const ada = { id: 183, username: "Ada Byron", email: "ada@example.com", color: "#7b68ee", initials: "AB" };
const item = { id: "2800763136717140857", type: 1, date: "1795175998617", parent_id: "162641062", source: null };

/** Webhooks of ClickUp, about tasks, lists, folders, spaces and goals. */
export const clickup = definePreset({
  name: "clickup",
  title: "ClickUp",
  documentation: "https://developer.clickup.com/docs/webhooks",
  // The next change of the same space, folder or goal is the same event word for word: only changes with ids can be
  // recognized when they come again.
  auth: { scheme: "signature", from: "header:x-signature", content: "{body}", replaySeconds: 0 },
  secret: { label: "webhook secret", madeBy: "sender" },
  event: "body:event",
  deliveryId: { from: deliveryIdOf, signed: true, where: "body:webhook_id + body:history_items[].id" },
  sender({ payload }) {
    const user = valueAt(payload, "history_items[0].user");
    const id = lineAt(user, "id");
    const isOne = listAt(payload, "history_items").every((item) => lineAt(item, "user.id") === id);
    const actor = eventActor(lineAt(user, "username", "email"), id);
    return actor && (isOne ? actor : { ...actor, unproven: true });
  },
  vouchesForActors: true,
  ignored: "nothing. ClickUp marks no bots",
  success: {
    statuses: "2xx, within 7 seconds",
    otherwise: "401 and 410: suspends the webhook; otherwise tries 5 times, and suspends it after 100 failed events",
  },
  mapping: { name: "ClickUp", links: ["app.clickup.com"], maxBodyBytes: 1_048_576 },
  message,
  samples: {
    taskStatusUpdated: {
      payload: {
        event: "taskStatusUpdated",
        history_items: [
          {
            ...item,
            field: "status",
            data: { status_type: "custom" },
            user: ada,
            before: { status: "to do", color: "#f9d900", orderindex: 0, type: "open" },
            after: { status: "in progress", color: "#7C4DFF", orderindex: 1, type: "custom" },
          },
        ],
        task_id: "1vj38vv",
        webhook_id: "7fa3ec74-69a8-4530-a251-8a13730bd204",
      },
    },
    taskCommentPosted: {
      payload: {
        event: "taskCommentPosted",
        history_items: [
          {
            ...item,
            id: "2800803631413624919",
            field: "comment",
            data: {},
            user: ada,
            before: null,
            after: "648893191",
            comment: { id: "648893191", text_content: "Can we ship this on Monday?", parent: "1vj38vv" },
          },
        ],
        task_id: "1vj38vv",
        webhook_id: "7fa3ec74-69a8-4530-a251-8a13730bd204",
      },
    },
    taskDeleted: {
      payload: { event: "taskDeleted", task_id: "1vj38vv", webhook_id: "7fa3ec74-69a8-4530-a251-8a13730bd204" },
    },
  },
  setup: [
    'Start the gateway, then make the webhook: POST https://api.clickup.com/api/v2/team/<workspace id>/webhook with {"endpoint":"{url}","events":["taskStatusUpdated","taskCommentPosted"]} and a personal token in Authorization.',
    "Copy webhook.secret of the answer, the {secret}, into hooks.clickup.secret before the first event: ClickUp suspends a webhook that is answered 401.",
    'A suspended webhook is active again after PUT https://api.clickup.com/api/v2/webhook/<id> with {"status":"active"}.',
  ],
});

/** An event of one change has the change's id; ClickUp gives others none. */
function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const ids = listAt(payload, "history_items").map((each) => lineAt(each, "id"));
  const webhook = lineAt(payload, "webhook_id");
  return webhook === "" || ids.length === 0 || ids.includes("") ? undefined : [webhook, ...ids].join(":");
}

function message({ payload, event = "" }: PresetEvent): string {
  const items = listAt(payload, "history_items");
  const task = lineAt(payload, "task_id");
  return messageOf(
    headline("ClickUp:", words(event).toLowerCase() || "new event", phrase("by", lineAt(items[0], "user.username"))),
    itemLines(items, changeLine),
    labeled("Task", task === "" ? "" : `https://app.clickup.com/t/${task}`),
    labeled("At", timeText(Number(lineAt(items[0], "date")) || undefined)),
    idLine(payload, { task: "task_id", list: "list_id", folder: "folder_id", space: "space_id", goal: "goal_id" }),
  );
}

function changeLine(change: unknown): string {
  const comment = bodyAt(change, "comment.text_content");
  if (comment !== "") return labeled("Comment", comment);
  const [before, after] = [sideOf(change, "before"), sideOf(change, "after")];
  return labeled(capitalized(lineAt(change, "field")) || "Change", joinText(" -> ", before, after));
}

/** A value is a text, or an object that has the text. */
function sideOf(change: unknown, side: string): string {
  const text = lineAt(change, `${side}.status`, `${side}.priority`, `${side}.username`, `${side}.name`, side);
  return clip(text, MAX_VALUE);
}
