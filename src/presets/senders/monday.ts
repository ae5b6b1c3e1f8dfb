import Type from "typebox";
import type { AuthInput } from "../../config/auth/schema.ts";
import type { PresetSettings } from "../../config/preset.ts";
import { joinText, labeled, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { asJson } from "../message/data-lines.ts";
import { bodyAt, headline, idLine, lineAt, phrase, spoken, titled } from "../message/headline.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";

const event = {
  app: "monday",
  triggerTime: "2026-11-20T11:59:58.210Z",
  subscriptionId: 73759690,
  userId: 9603417,
  originalTriggerUuid: null,
  boardId: 1771812698,
  groupId: "topics",
  pulseId: 1772099344,
};

/** Webhooks of monday.com boards; those of an app carry a token, the others only what their URL has. */
export const monday = definePreset({
  name: "monday",
  title: "monday.com",
  documentation: "https://developer.monday.com/api-reference/docs/webhooks",
  auth: authOf,
  secret: { label: "URL secret", madeBy: "owner", minLength: 24 },
  settings: Type.Object({
    app: Type.Optional(
      Type.Boolean({
        description:
          "True: an app with an OAuth token has made the webhook, and `secret` is its Signing Secret. Otherwise `secret` is the last part of the URL.",
      }),
    ),
  }),
  handshakes: [
    {
      name: "challenge",
      verified: false,
      when: { "body:challenge": true },
      onlyKeys: ["challenge"],
      reply: { status: 200, json: { challenge: "{body:challenge}" } },
    },
  ],
  event: "body:event.type",
  deliveryId: { from: "body:event.triggerUuid", signed: false },
  sender({ payload }: PresetContext) {
    const id = lineAt(payload, "event.userId");
    return eventActor(id === "" ? "" : `user ${id}`, id);
  },
  vouchesForActors: true,
  ignored: "nothing. monday.com marks no bots",
  success: { statuses: "200", otherwise: "tries again each minute for 30 minutes" },
  mapping: { name: "monday.com", maxBodyBytes: 1_048_576 },
  message,
  samples: {
    create_pulse: {
      payload: {
        event: {
          ...event,
          pulseName: "Renew the certificate",
          groupName: "Group Title",
          columnValues: {},
          type: "create_pulse",
          triggerUuid: "b5ed2e17c530f43668de130142445cba",
        },
      },
    },
    update_column_value: {
      payload: {
        event: {
          ...event,
          pulseName: "Renew the certificate",
          columnId: "status",
          columnType: "color",
          columnTitle: "Status",
          value: { label: { index: 1, text: "Done", style: { color: "#00c875" } }, post_id: null },
          previousValue: { label: { index: 0, text: "Working on it" } },
          changedAt: 1795175998.12,
          type: "update_column_value",
          triggerUuid: "504b2eb76c80f672a18f892c0f700e41",
        },
      },
    },
    create_update: {
      payload: {
        event: {
          ...event,
          body: "<p>Who renews it?</p>",
          textBody: "Who renews it?",
          updateId: 1190616585,
          replyId: null,
          type: "create_update",
          triggerUuid: "6119292e2eb75ae6b6f6d6e9d6d6f3b2",
        },
      },
    },
  },
  setup: [
    "Choose the {secret}, for example with openssl rand -hex 32, set it as hooks.monday.secret, and start the gateway: monday.com checks the URL when the webhook is made.",
    "On the board open Automate, Integrations, webhooks, choose what to be notified of, and paste {url}/ followed by the secret.",
    "A webhook that an app makes with its OAuth token carries a signed token instead: set hooks.monday.app to true and the app's Signing Secret as the secret, and use {url} as it is.",
  ],
});

function authOf({ app }: PresetSettings): AuthInput {
  if (app === true) return { scheme: "jwt", algorithm: "hmac-sha256", from: "header:authorization" };
  return { scheme: "secret", from: "path" };
}

function message({ payload, event: type = "" }: PresetEvent): string {
  const change = valueAt(payload, "event");
  return messageOf(
    titled(
      headline("monday.com:", spoken(type) || "new event", phrase("by user", lineAt(change, "userId"))),
      lineAt(change, "pulseName"),
    ),
    columnLine(change),
    labeled("Text", bodyAt(change, "textBody", "body")),
    labeled("Group", lineAt(change, "groupName", "destGroup.title")),
    labeled("At", lineAt(change, "triggerTime")),
    idLine(change, {
      board: "boardId",
      item: ["pulseId", "itemId"],
      parent: "parentItemId",
      update: "updateId",
      reply: "replyId",
    }),
  );
}

function columnLine(change: unknown): string {
  const title = lineAt(change, "columnTitle", "columnId");
  if (title === "") return "";
  return labeled(title, joinText(" -> ", valueText(change, "previousValue"), valueText(change, "value")));
}

/** A value has the shape of its column's type; those that are not known are shown as JSON. */
function valueText(change: unknown, side: string): string {
  const value = valueAt(change, side);
  const text = lineAt(value, "label.text", "name", "text", "value", "date", "email", "");
  return text === "" && typeof value === "object" && value !== null ? asJson(value) : text;
}
